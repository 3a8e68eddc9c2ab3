// A register server in Go: n1 holds all registers, and the other nodes pass their clients' requests on to it.
//
//	server NODE ADDRESS n1=ADDRESS,n2=ADDRESS,… DATA
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// How long a node waits for n1.
const patience = 500 * time.Millisecond

type request struct {
	F     string `json:"f"`
	Key   string `json:"key"`
	Value *int   `json:"value"`
}

type holder struct {
	sync.Mutex
	node   string
	first  string
	file   *os.File
	values map[string]int
	writes int
}

func main() {
	node, address, peers, data := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	first, _, _ := strings.Cut(strings.TrimPrefix(peers, "n1="), ",")
	if err := os.MkdirAll(data, 0o755); err != nil {
		log.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(data, "log"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	held := &holder{node: node, first: first, file: file, values: map[string]int{}}
	held.replay()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node, "listens and holds", held.writes, "writes")
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go held.serve(connection)
	}
}

// replay reads the log; whatever follows its last whole line was never acknowledged and is dropped.
func (held *holder) replay() {
	lines, whole := bufio.NewReader(held.file), int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		held.apply(line)
		whole += int64(len(line))
	}
	if held.file.Truncate(whole) != nil {
		log.Fatal("the log cannot be cut")
	}
	if _, err := held.file.Seek(whole, 0); err != nil {
		log.Fatal(err)
	}
}

func (held *holder) apply(line []byte) {
	var write request
	if json.Unmarshal(line, &write) != nil || write.Value == nil {
		log.Fatalf("damaged: %q", line)
	}
	held.values[write.Key] = *write.Value
	held.writes++
}

func (held *holder) serve(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewReader(connection)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		answer, _ := json.Marshal(held.answer(bytes.TrimSpace(line)))
		if _, err := connection.Write(append(answer, '\n')); err != nil {
			return
		}
	}
}

// passOn asks n1.  A request without an answer may have been carried out.
func (held *holder) passOn(line []byte) any {
	connection, err := net.DialTimeout("tcp", held.first, patience)
	if err != nil {
		return map[string]any{"type": "fail", "error": "no connection to n1"}
	}
	defer connection.Close()
	unanswered := map[string]any{"type": "info", "error": "no answer from n1"}
	if connection.SetDeadline(time.Now().Add(patience)) != nil {
		return unanswered
	}
	if _, err := connection.Write(append(line, '\n')); err != nil {
		return unanswered
	}
	var answer map[string]any
	if json.NewDecoder(connection).Decode(&answer) != nil {
		return unanswered
	}
	return answer
}

func (held *holder) answer(line []byte) any {
	if held.node != "n1" && string(line) != "status" {
		return held.passOn(line)
	}
	held.Lock()
	defer held.Unlock()
	if string(line) == "status" {
		role := map[bool]string{true: "leader", false: "follower"}[held.node == "n1"]
		return map[string]any{"role": role, "term": 1, "writes": held.writes}
	}
	line = bytes.TrimPrefix(line, []byte("op "))
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return map[string]any{"type": "fail", "error": err.Error()}
	}
	if asked.F == "write" {
		if _, err := held.file.Write(append(line, '\n')); err != nil {
			log.Fatal(err)
		}
		if err := held.file.Sync(); err != nil {
			log.Fatal(err)
		}
		held.apply(line)
		return map[string]any{"type": "ok"}
	}
	if value, there := held.values[asked.Key]; there {
		return map[string]any{"type": "ok", "value": value}
	}
	return map[string]any{"type": "ok", "value": nil}
}
