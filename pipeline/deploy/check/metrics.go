package main

import (
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// metrics returns what `promtool check metrics` finds wrong with a file in Prometheus' text format.
func metrics(path string) ([]any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	problems, err := promlint.New(file).Lint()
	found := make([]any, len(problems))
	for i, problem := range problems {
		found[i] = problem
	}
	return found, err
}
