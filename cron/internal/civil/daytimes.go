package civil

import "math/bits"

// DayTimes is the seconds of a day at which a rule occurs: every combination of its hours, minutes and seconds.
type DayTimes struct {
	Sec, Min uint64
	Hour     uint32
	First    int64 // the first of them
}

func NewDayTimes(hour, min, sec uint64) DayTimes {
	first := bits.TrailingZeros64(hour)*3600 + bits.TrailingZeros64(min)*60 + bits.TrailingZeros64(sec)
	return DayTimes{sec, min, uint32(hour), int64(first)}
}

// From is the first of them at or after second s of the day, or -1.
func (t *DayTimes) From(s int) int {
	h, m, s := s/3600, s/60%60, s%60
	if t.Hour>>h&1 != 0 {
		if t.Min>>m&1 != 0 {
			if n := LowBit(t.Sec, s); n >= 0 {
				return h*3600 + m*60 + n
			}
		}
		if n := LowBit(t.Min, m+1); n >= 0 {
			return h*3600 + n*60 + bits.TrailingZeros64(t.Sec)
		}
	}
	if n := LowBit(uint64(t.Hour), h+1); n >= 0 {
		return n*3600 + int(t.First%3600)
	}
	return -1
}

// Count is how many there are.
func (t *DayTimes) Count() int {
	return bits.OnesCount32(t.Hour) * bits.OnesCount64(t.Min) * bits.OnesCount64(t.Sec)
}

// At is number k of them, from 0.
func (t *DayTimes) At(k int) int {
	s, m := bits.OnesCount64(t.Sec), bits.OnesCount64(t.Min)
	return NthBit(uint64(t.Hour), k/s/m)*3600 + NthBit(t.Min, k/s%m)*60 + NthBit(t.Sec, k%s)
}

// NthBit is member k of a set, from 0.
func NthBit(set uint64, k int) int {
	for range k {
		set &= set - 1
	}
	return bits.TrailingZeros64(set)
}
