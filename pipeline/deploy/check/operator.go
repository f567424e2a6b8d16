package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// operator is where the definition of TestRun comes from. Its Go types would bring k6 and all of Kubernetes' client.
const operator = "github.com/grafana/k6-operator@v0.0.19"

// testRun decodes a TestRun by the definition that k6-operator installs in a cluster.
func testRun(text []byte) (any, error) {
	out, err := exec.Command("go", "mod", "download", "-json", operator).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operator, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	definition, err := os.ReadFile(filepath.Join(module.Dir, "config/crd/bases/k6.io_testruns.yaml"))
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return nil, err
	}
	var object any
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		return nil, err
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == "v1alpha1" {
			return object, validate(version.Schema.OpenAPIV3Schema, object)
		}
	}
	return nil, fmt.Errorf("%s defines no v1alpha1", operator)
}

func validate(schema map[string]any, object any) error {
	// The metadata is Kubernetes' own, and has no schema there.
	schema["properties"].(map[string]any)["metadata"] = map[string]any{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true,
	}
	closeObjects(schema)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("testrun.json", schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile("testrun.json")
	if err != nil {
		return err
	}
	return compiled.Validate(object)
}

// closeObjects forbids fields that a schema does not name; Kubernetes drops them without a word.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		_, named := s["properties"].(map[string]any)
		if _, open := s["x-kubernetes-preserve-unknown-fields"]; named && !open && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, inner := range s {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range s {
			closeObjects(inner)
		}
	}
}
