// Check decodes what the files in pipeline/deploy say as strictly as those do who will read them: Kubernetes' own Go
// types, k6-operator's definition of its resource, and Compose's loader. A field that none of them has is an error.
//
//	go run . kubernetes <kustomization>…    # builds each as `kubectl apply -k` does, and decodes every object
//	go run . compose <file>                 # variables are those of the environment
//
// It prints a line of JSON for each object, or for the Compose file, as it was understood.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(args []string) error {
	if len(args) >= 2 {
		switch args[0] {
		case "kubernetes":
			return each(args[1:], kubernetes)
		case "compose":
			return each(args[1:], compose)
		}
	}
	return fmt.Errorf("allowed: kubernetes <kustomization>…, or compose <file>…")
}

func each(paths []string, read func(path string) ([]any, error)) error {
	for _, path := range paths {
		objects, err := read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, object := range objects {
			if err := json.NewEncoder(os.Stdout).Encode(object); err != nil {
				return err
			}
		}
	}
	return nil
}
