// Checks one history with porcupine and prints what it cost.
//
// Usage: bench-porcupine FILE SECONDS
//
// FILE holds little-endian int64 sevens, one a call: kind (0 read, 1 write, 2 cas), value, old, invoke, return, key,
// known (0: nobody saw it complete).
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct{ kind, value, old, key int64 }

func register() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := map[int64][]porcupine.Operation{}
			for _, operation := range history {
				key := operation.Input.(call).key
				parts[key] = append(parts[key], operation)
			}
			all := make([][]porcupine.Operation, 0, len(parts))
			for _, part := range parts {
				all = append(all, part)
			}
			return all
		},
		Init: func() interface{} { return int64(-1) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			value, in, known := state.(int64), input.(call), output.(bool)
			switch in.kind {
			case 0:
				return value == in.value, state
			case 1:
				return true, in.value
			}
			if value == in.old {
				return true, in.value
			}
			return !known, state
		},
	}
}

func read(path string) []porcupine.Operation {
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	field := func(row, column int) int64 {
		return int64(binary.LittleEndian.Uint64(data[(row*7+column)*8:]))
	}
	history := make([]porcupine.Operation, len(data)/56)
	for row := range history {
		history[row] = porcupine.Operation{
			Input:  call{field(row, 0), field(row, 1), field(row, 2), field(row, 5)},
			Call:   field(row, 3),
			Return: field(row, 4),
			Output: field(row, 6) == 1,
		}
	}
	return history
}

func cpu() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	history := read(os.Args[1])
	before, began := cpu(), time.Now()
	result := porcupine.CheckOperationsTimeout(register(), history, time.Duration(seconds*float64(time.Second)))
	wall, spent := time.Since(began).Seconds(), cpu()-before
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	fmt.Printf("{\"result\":%q,\"wall\":%f,\"cpu\":%f,\"rss\":%d}\n", result, wall, spent, usage.Maxrss<<10)
}
