//go:build !linux

package main

import (
	"errors"
	"os"
	"time"
)

func cpuOf(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is read on Linux only")
}

func peakOf(*os.ProcessState) (int64, error) {
	return 0, errors.New("the memory of a process is read on Linux only")
}
