// Models of a user's own, as one would write them for porcupine: states are ordinary Go values, small ones compared by
// ==.  Their twins in Python are in own_models.py.
package main

import (
	"sort"

	"github.com/anishathalye/porcupine"
)

const (
	take, give, offer, poll, transfer, balances = 18, 19, 20, 21, 22, 23
)

const permits, accounts, funds = 3, 8, 10

// transferred is a transfer with its answer, or a read of all balances.
type transferred struct {
	reads, known, overdraft bool
	whence, whither, amount int64
	paid                    bool
	seen                    [accounts]int64
}

// own answers the model of such an object, and gives a bank's operations their inputs.
func own(history []porcupine.Operation, most int64) porcupine.Model {
	switch {
	case most <= give:
		return permitting()
	case most <= poll:
		return prioritizing()
	}
	after := balancesOf(history)
	for row := range history {
		in := history[row].Input.(asked)
		one := parts(in.value)
		one.known = in.known
		history[row].Input = one
		if in.kind == balances {
			history[row].Input = transferred{reads: true, seen: after[in.old]}
		}
	}
	return banking(after[0])
}

func parts(value int64) transferred {
	return transferred{
		whence: value >> 16 & 255, whither: value >> 8 & 255, amount: value & 255, paid: value>>24&1 == 1,
		overdraft: value>>25&1 == 1,
	}
}

// balancesOf answers the balances before the first transfer, and after each of them.
func balancesOf(history []porcupine.Operation) [][accounts]int64 {
	made := make([]transferred, len(history))
	for _, operation := range history {
		if in := operation.Input.(asked); in.kind == transfer && in.old >= 0 {
			made[in.old] = parts(in.value)
		}
	}
	after := [][accounts]int64{start(history)}
	for _, one := range made {
		_, next := one.from(after[len(after)-1])
		after = append(after, next)
	}
	return after
}

// start answers what accounts hold at first: nothing if they may be overdrawn.
func start(history []porcupine.Operation) [accounts]int64 {
	var state [accounts]int64
	for _, operation := range history {
		if in := operation.Input.(asked); in.kind == transfer && !parts(in.value).overdraft {
			for account := range state {
				state[account] = funds
			}
			break
		}
	}
	return state
}

// from says whether there was enough, and the balances then.
func (one transferred) from(state [accounts]int64) (bool, [accounts]int64) {
	if state[one.whence] < one.amount && !one.overdraft {
		return false, state
	}
	state[one.whence] -= one.amount
	state[one.whither] += one.amount
	return true, state
}

func permitting() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return int64(0) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			taken := state.(int64)
			in, next := input.(asked), taken+1
			if in.kind == give {
				next = taken - 1
			}
			if legal := 0 <= next && next <= permits; legal || in.known {
				return legal, next
			}
			return true, taken
		},
	}
}

func prioritizing() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return []int64(nil) },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			items, in := state.([]int64), input.(asked)
			if in.kind == offer {
				place := sort.Search(len(items), func(at int) bool { return items[at] >= in.value })
				more := make([]int64, 0, len(items)+1)
				return true, append(append(append(more, items[:place]...), in.value), items[place:]...)
			}
			if len(items) == 0 {
				return !in.known || in.value == -1, state
			}
			return !in.known || items[0] == in.value, items[1:]
		},
		Equal: func(one, two interface{}) bool { return same64(one.([]int64), two.([]int64)) },
	}
}

func banking(start [accounts]int64) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return start },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			now, in := state.([accounts]int64), input.(transferred)
			if in.reads {
				return now == in.seen, state
			}
			paid, after := in.from(now)
			return paid == in.paid || !in.known, after
		},
	}
}
