// Models of other objects, as a user of porcupine would write them: key-value stores as porcupine's own tests have
// them, sets as sorted slices that are copied, queues as slices that share their memory, registers as an array.
package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	put, text, got, add, sum, enqueue, dequeue, insert, elements, acquire, release, txn = 6, 7, 8, 9, 10, 11, 12, 13, 14,
		15, 16, 17
)

// asked is what an operation asked for and what it was answered, in the object's own terms.
type asked struct {
	kind    int64
	value   int64
	old     int64
	text    string
	members []int64
	steps   [2]step
	known   bool
}

// step is one step of a transaction: it reads or writes a register (-1: absent).
type step struct {
	writes     bool
	key, value int64
}

// object answers the model for a history of such an object, and gives its operations their inputs; nil: it is none.
func object(history []porcupine.Operation) *porcupine.Model {
	if len(history) == 0 {
		return nil
	}
	most := int64(0)
	for _, operation := range history {
		most = max(most, operation.Input.(call).kind)
	}
	if most < put {
		return nil
	}
	appended, members := stringsOf(history), membersOf(history)
	for row := range history {
		in := history[row].Input.(call)
		one := asked{kind: in.kind, value: in.value, old: in.old, known: history[row].Output.(bool)}
		switch in.kind {
		case put, text:
			one.text = fmt.Sprintf("x %d y", in.key)
		case got:
			// A copy, as from a file: strings that shared memory would be compared at once.
			one.text = strings.Clone(strings.Join(appended[in.old][:in.value], ""))
		case elements:
			one.members = append([]int64(nil), members[:in.old]...)
			sort.Slice(one.members, func(a, b int) bool { return one.members[a] < one.members[b] })
		case txn:
			for at, bits := range [2]int64{in.value >> 16, in.value & 0xffff} {
				one.steps[at] = step{bits&1 == 1, bits >> 1 & 127, bits>>8 - 1}
			}
		}
		history[row].Input = one
	}
	model := texting()
	switch {
	case most > txn:
		model = own(history, most)
	case most > got && most <= sum:
		model = counting()
	case most > sum && most <= dequeue:
		model = queueing()
	case most > dequeue && most <= elements:
		model = collecting()
	case most > elements && most <= release:
		model = locking()
	case most > release:
		model = transacting()
	}
	return &model
}

// stringsOf answers the pieces of the string that began with each put (-1: with none).
func stringsOf(history []porcupine.Operation) map[int64][]string {
	pieces := map[int64]map[int64]string{}
	set := func(root, place, name int64) {
		if pieces[root] == nil {
			pieces[root] = map[int64]string{}
		}
		pieces[root][place] = fmt.Sprintf("x %d y", name)
	}
	for _, operation := range history {
		switch in := operation.Input.(call); {
		case in.kind == put:
			set(operation.Call, 0, in.key)
		case in.kind == text && in.value >= 0:
			set(in.old, in.value, in.key)
		}
	}
	appended := map[int64][]string{}
	for root, named := range pieces {
		for place := range int64(len(named)) {
			appended[root] = append(appended[root], named[place])
		}
	}
	return appended
}

// membersOf answers the elements of a set in the order in which they were added.
func membersOf(history []porcupine.Operation) []int64 {
	members := make([]int64, len(history))
	for _, operation := range history {
		if in := operation.Input.(call); in.kind == insert && in.old >= 0 {
			members[in.old] = in.value
		}
	}
	return members
}

func texting() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return "" },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			switch in := input.(asked); in.kind {
			case put:
				return true, in.text
			case text:
				return true, state.(string) + in.text
			default:
				return state.(string) == in.text, state
			}
		},
	}
}

func counting() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return int64(0) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			in := input.(asked)
			if in.kind == add {
				return true, state.(int64) + in.value
			}
			return state.(int64) == in.value, state
		},
	}
}

func queueing() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return []int64(nil) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			items, in := state.([]int64), input.(asked)
			if in.kind == enqueue {
				return true, append(items[:len(items):len(items)], in.value)
			}
			if len(items) == 0 {
				return !in.known || in.value == -1, state
			}
			return !in.known || items[0] == in.value, items[1:]
		},
		Equal: func(one, two interface{}) bool { return same64(one.([]int64), two.([]int64)) },
	}
}

func collecting() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return []int64(nil) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			items, in := state.([]int64), input.(asked)
			if in.kind == elements {
				return same64(items, in.members), state
			}
			place := sort.Search(len(items), func(at int) bool { return items[at] >= in.value })
			if place < len(items) && items[place] == in.value {
				return true, state
			}
			more := make([]int64, 0, len(items)+1)
			return true, append(append(append(more, items[:place]...), in.value), items[place:]...)
		},
		Equal: func(one, two interface{}) bool { return same64(one.([]int64), two.([]int64)) },
	}
}

func locking() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return false },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			held, in := state.(bool), input.(asked)
			legal := held == (in.kind == release)
			return legal || !in.known, (legal && in.kind == acquire) || (!legal && held)
		},
	}
}

func transacting() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return [3]int64{-1, -1, -1} },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			registers := state.([3]int64)
			known := input.(asked).known
			for _, one := range input.(asked).steps {
				if one.writes {
					registers[one.key] = one.value
				} else if known && registers[one.key] != one.value {
					return false, state
				}
			}
			return true, registers
		},
	}
}

func same64(one, two []int64) bool {
	if len(one) != len(two) {
		return false
	}
	for place := range one {
		if one[place] != two[place] {
			return false
		}
	}
	return true
}
