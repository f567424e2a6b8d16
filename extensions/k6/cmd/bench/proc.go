package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

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
