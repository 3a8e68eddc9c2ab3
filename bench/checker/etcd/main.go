// Judges operations of etcd's robustness tests by etcd's own model: a JSON array a line in, a verdict a line out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
	"go.etcd.io/etcd/tests/v3/robustness/model"
)

type operation struct {
	ClientId int
	Input    model.EtcdRequest
	Call     int64
	Output   model.MaybeEtcdResponse
	Return   int64
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	for in.Scan() {
		var operations []operation
		if err := json.Unmarshal(in.Bytes(), &operations); err != nil {
			panic(err)
		}
		history := []porcupine.Operation{}
		for _, one := range operations {
			history = append(history, porcupine.Operation{
				ClientId: one.ClientId, Input: one.Input, Call: one.Call, Output: one.Output, Return: one.Return,
			})
		}
		keys := []string{"a", "b", "c"}
		fmt.Println(porcupine.CheckOperationsTimeout(model.NonDeterministicModel(keys), history, 10*time.Second))
	}
}
