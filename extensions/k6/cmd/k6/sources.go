package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sourceFolder is the path of the sources, relative to the binary.
const sourceFolder = "extensions/k6"

// hashSources is the SHA-256, in hex, over the names and contents of the files that the binary is built from: .go files
// except tests, go.mod, go.sum and what is embedded. They are in bytewise order of their slash-separated paths, and a
// zero byte follows each name and each content. pipeline/setup/sources.mjs computes the same.
func hashSources(tree fs.FS) (string, error) {
	var paths []string
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && isSource(d.Name()) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(paths)
	h := sha256.New()
	for _, path := range paths {
		content, err := fs.ReadFile(tree, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\x00%s\x00", path, content)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func isSource(name string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "page.gen.html", "pipeline.schema.json", "try.gen.js",
		"help.txt"}, name) ||
		strings.HasSuffix(name, ".gohtml") ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// checkSources returns an error when the binary was built from other sources than those beside it: someone who pulls
// new sources and forgets to build would measure with an old instrument unnoticed. built is the hash from the time of
// the build; without it, or without sources beside the binary, there is nothing to compare.
func checkSources(binary, built string) error {
	tree := filepath.Join(filepath.Dir(binary), sourceFolder)
	if _, err := os.Stat(filepath.Join(tree, "go.mod")); err != nil || built == "" {
		return nil
	}
	now, err := hashSources(os.DirFS(tree))
	if err != nil {
		return fmt.Errorf("the sources in %s can't be read: %w", sourceFolder, err)
	}
	if now != built {
		return fmt.Errorf("%s is stale: it was built from other sources than %s holds now; "+
			"build it with: npm run setup",
			binary, sourceFolder)
	}
	return nil
}
