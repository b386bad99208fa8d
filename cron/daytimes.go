package cron

import "math/bits"

// dayTimes is the seconds of a day at which a rule occurs: every combination of its hours, minutes and seconds.
type dayTimes struct {
	sec, min uint64
	hour     uint32
	first    int64 // the first of them
}

func newDayTimes(hour, min, sec uint64) dayTimes {
	first := bits.TrailingZeros64(hour)*3600 + bits.TrailingZeros64(min)*60 + bits.TrailingZeros64(sec)
	return dayTimes{sec, min, uint32(hour), int64(first)}
}

// from is the first of them at or after second s of the day, or -1.
func (t *dayTimes) from(s int) int {
	h, m, s := s/3600, s/60%60, s%60
	if t.hour>>h&1 != 0 {
		if t.min>>m&1 != 0 {
			if n := lowBit(t.sec, s); n >= 0 {
				return h*3600 + m*60 + n
			}
		}
		if n := lowBit(t.min, m+1); n >= 0 {
			return h*3600 + n*60 + bits.TrailingZeros64(t.sec)
		}
	}
	if n := lowBit(uint64(t.hour), h+1); n >= 0 {
		return n*3600 + int(t.first%3600)
	}
	return -1
}

// count is how many there are.
func (t *dayTimes) count() int {
	return bits.OnesCount32(t.hour) * bits.OnesCount64(t.min) * bits.OnesCount64(t.sec)
}

// at is number k of them, from 0.
func (t *dayTimes) at(k int) int {
	s, m := bits.OnesCount64(t.sec), bits.OnesCount64(t.min)
	return nthBit(uint64(t.hour), k/s/m)*3600 + nthBit(t.min, k/s%m)*60 + nthBit(t.sec, k%s)
}

// nthBit is member k of a set, from 0.
func nthBit(set uint64, k int) int {
	for range k {
		set &= set - 1
	}
	return bits.TrailingZeros64(set)
}
