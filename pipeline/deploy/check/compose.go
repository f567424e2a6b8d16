package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
)

// compose loads a Compose file as `docker compose` does: against the schema of the specification, variables filled in.
func compose(path string) ([]any, error) {
	options, err := cli.NewProjectOptions([]string{path}, cli.WithOsEnv, cli.WithWorkingDirectory(filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return []any{json.RawMessage(text)}, nil
}
