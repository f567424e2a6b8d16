package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/<pid>/stat (proc(5): USER_HZ, 100 on every platform of Linux).
const tick = 10 * time.Millisecond

// cpuOf is the CPU time, user and system, that a process has used so far.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("the CPU time of a process can't be read: %w (Linux only)", err)
	}
	return parseStat(stat)
}

func parseStat(stat []byte) (time.Duration, error) {
	// The name stands in parentheses and may hold any character, spaces and parentheses too.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system = 14 - 3, 15 - 3 // their numbers in proc(5); the first that is left is the third
	if len(fields) <= system {
		return 0, errors.New("/proc/<pid>/stat is not as proc(5) says")
	}
	sum := time.Duration(0)
	for _, field := range []string{fields[user], fields[system]} {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/<pid>/stat is not as proc(5) says: %w", err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// peakOf is the largest resident memory that a process has had, in bytes.
func peakOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of a process can't be read: %w (Linux only)", err)
	}
	return parseStatus(status)
}

func parseStatus(status []byte) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/<pid>/status is not as proc(5) says: %w", err)
			}
			return kb << 10, nil
		}
	}
	return 0, errors.New("/proc/<pid>/status has no VmHWM: the process has ended")
}

// loadAverage is the machine's, of the last minute, for the notes: ratios taken on a busy machine are doubtful.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
