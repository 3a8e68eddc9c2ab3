// Checks one history with porcupine and prints what it cost.
//
// Usage: bench-porcupine FILE SECONDS
//
// FILE holds little-endian int64 sevens, one a call: kind (0 read, 1 write, 2 cas, 3 append, 4 get, 5 list; of other
// objects see objects.go), value, old, invoke, return, key, known (0: no return was seen).  Of an append old is the
// index that it got, of a get the one asked for, of a list its length: it answered so many of the entries that the
// appends say there are.
// A check of less than a tenth of a second is repeated for a twentieth of a second, five times at least, and the median
// counts.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct {
	kind, value, old, key int64
	entries               []int64
}

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

// entry is a log's newest entry and, behind it, all others: states share what they have in common.
type entry struct {
	value, index int64
	before       *entry
}

func log() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return (*entry)(nil) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			last, in, known := state.(*entry), input.(call), output.(bool)
			next := int64(0)
			if last != nil {
				next = last.index + 1
			}
			if in.kind == 3 {
				return !known || in.old == next, &entry{in.value, next, last}
			}
			if in.kind == 5 {
				return in.old == next && same(last, in.entries), state
			}
			if in.old >= next {
				return in.value == -1, state
			}
			at := last
			for at.index > in.old {
				at = at.before
			}
			return at.value == in.value, state
		},
		Equal: func(one, two interface{}) bool {
			a, b := one.(*entry), two.(*entry)
			for a != b {
				if a == nil || b == nil || a.index != b.index || a.value != b.value {
					return false
				}
				a, b = a.before, b.before
			}
			return true
		},
	}
}

// same says whether the log is these entries.
func same(at *entry, entries []int64) bool {
	for at != nil {
		if at.value != entries[at.index] {
			return false
		}
		at = at.before
	}
	return true
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
	entries := make([]int64, len(history))
	for row := range history {
		if field(row, 0) == 3 && field(row, 2) >= 0 {
			entries[field(row, 2)] = field(row, 1)
		}
	}
	for row := range history {
		var listed []int64
		if field(row, 0) == 5 {
			// A copy, as from a file: lists that shared memory would be in the cache.
			listed = append(listed, entries[:field(row, 2)]...)
		}
		history[row] = porcupine.Operation{
			Input:  call{field(row, 0), field(row, 1), field(row, 2), field(row, 5), listed},
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

// check answers the verdict and what one check cost: CPU and wall time in seconds.
func check(model porcupine.Model, history []porcupine.Operation, limit time.Duration) (string, float64, float64) {
	before, began := cpu(), time.Now()
	result := porcupine.CheckOperationsTimeout(model, history, limit)
	return string(result), cpu() - before, time.Since(began).Seconds()
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	history := read(os.Args[1])
	model := register()
	if what := object(history); what != nil {
		model = *what
	} else if len(history) > 0 && history[0].Input.(call).kind >= 3 {
		model = log()
	}
	limit := time.Duration(seconds * float64(time.Second))
	result, spent, wall := check(model, history, limit)
	if spent < 0.1 {
		costs := [][2]float64{{spent, wall}}
		for total := spent; len(costs) < 5 || total < 0.05; total += spent {
			_, spent, wall = check(model, history, limit)
			costs = append(costs, [2]float64{spent, wall})
		}
		sort.Slice(costs, func(i, j int) bool { return costs[i][0] < costs[j][0] })
		spent, wall = costs[len(costs)/2][0], costs[len(costs)/2][1]
	}
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	fmt.Printf("{\"result\":%q,\"wall\":%f,\"cpu\":%f,\"rss\":%d}\n", result, wall, spent, usage.Maxrss<<10)
}
