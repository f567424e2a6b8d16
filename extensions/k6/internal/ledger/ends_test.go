package ledger

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const contract = "../../../../reports/contract/"

var update = flag.Bool("update", false, "regenerate what is made from reports/contract")

// row is a count of ends.json.
type row struct {
	Name    string `json:"-"`
	Meaning string `json:"meaning"`
	Reason  string `json:"reason"`
	Missed  bool   `json:"missed"`
	Failed  bool   `json:"failed"`
	Judged  string `json:"judged"`
	Rare    bool   `json:"rare"`
	Open    bool   `json:"open"`
	Stage   string `json:"stage"`
	Metric  bool   `json:"metric"`
}

// rows are the members of an object, in its order.
type rows []row

func (all *rows) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var one row
		if err := decoder.Decode(&one); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		one.Name = name.(string)
		*all = append(*all, one)
	}
	return nil
}

func table(t *testing.T) (ends, beside rows) {
	t.Helper()
	text, err := os.ReadFile(contract + "ends.json")
	require.NoError(t, err)
	var all struct{ Ends, Beside rows }
	require.NoError(t, json.Unmarshal(text, &all))
	return all.Ends, all.Beside
}

func TestTheEndsAreUpToDate(t *testing.T) {
	t.Parallel()
	ends, beside := table(t)
	var code bytes.Buffer
	write := func(text string, args ...any) { _, _ = fmt.Fprintf(&code, text, args...) }
	write("// Code generated from reports/contract/ends.json; DO NOT EDIT.\n\npackage ledger\n\n")
	write("// End is the end of a message.\ntype End int\n\n// The ends of a message, in the order of its way.\nconst (\n")
	for i, end := range ends {
		write("End%s", field(end.Name))
		if i == 0 {
			write(" End = iota")
		}
		write(" // %s\n", end.Meaning)
	}
	write("ends\n)\n\n// Ends are the counts of the ends. A run schedules their sum.\nvar Ends = [ends]EndCount{\n")
	for _, end := range ends {
		write("End%s: {\n%s,\n", field(end.Name), "Count: "+end.count(!end.Open))
		if end.Stage != "" {
			write("Stage: %q,\n", end.Stage)
		}
		for _, flag := range []struct {
			name string
			set  bool
		}{{"Missed", end.Missed}, {"Failed", end.Failed}, {"Open", end.Open}} {
			if flag.set {
				write("%s: true,\n", flag.name)
			}
		}
		write("},\n")
	}
	write("}\n\n// Beside are the counts of deliveries beside the ends.\nvar Beside = []Count{\n")
	for _, count := range beside {
		write("%s,\n", strings.TrimPrefix(count.count(count.Metric), "Count"))
	}
	write("}\n")
	want, err := format.Source(code.Bytes())
	require.NoError(t, err, code.String())
	if *update {
		require.NoError(t, os.WriteFile("ends.gen.go", want, 0o644))
		return
	}
	have, err := os.ReadFile("ends.gen.go")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "regenerate it: go test ./internal/ledger -run UpToDate -update")
}

// count is the Go code of a count.
func (r row) count(metric bool) string {
	code := fmt.Sprintf("Count{Name: %q, Metric: %v", r.Name, metric)
	if r.Rare {
		code += ", Rare: true"
	}
	if r.Judged != "" {
		code += ", Judged: " + field(r.Judged)
	}
	if r.Reason != "" {
		code += fmt.Sprintf(",\nReason: %q", r.Reason)
	}
	return code + fmt.Sprintf(",\nat: func(a *Account) *int { return &a.%s }}", field(r.Name))
}

// field turns dead_lettered into DeadLettered.
func field(name string) (all string) {
	for word := range strings.SplitSeq(name, "_") {
		all += strings.ToUpper(word[:1]) + word[1:]
	}
	return all
}

func TestEachCountOfAnAccountIsInTheTableOfEnds(t *testing.T) {
	t.Parallel()
	ends, beside := table(t)
	named := []string{"scheduled"}
	for _, count := range slices.Concat(ends, beside) {
		named = append(named, count.Name)
	}
	var fields []string
	account := reflect.TypeFor[Account]()
	for i := range account.NumField() {
		f := account.Field(i)
		if name := f.Tag.Get("json"); f.Type.Kind() == reflect.Int && name != "-" {
			fields = append(fields, name)
		}
	}
	assert.ElementsMatch(t, named, fields)
}

func TestEachCountOfTheSchemaIsInTheTableOfEnds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(contract + "run.schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs struct {
			Account struct {
				Properties map[string]struct {
					Ref string `json:"$ref"`
				}
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	var inSchema []string
	for name, property := range schema.Defs.Account.Properties {
		if property.Ref == "#/$defs/count" {
			inSchema = append(inSchema, name)
		}
	}
	ends, beside := table(t)
	named := []string{"scheduled"}
	for _, count := range slices.Concat(ends, beside) {
		named = append(named, count.Name)
	}
	assert.ElementsMatch(t, named, inSchema)
}

func TestEachEndCountsItsOwnField(t *testing.T) {
	t.Parallel()
	for end, count := range Ends {
		var a Account
		*count.at(&a) = 3
		text, err := json.Marshal(a)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"`+End(end).String()+`":3`)
		assert.Equal(t, 3, count.Of(a))
		a.Scheduled = 3
		assert.True(t, a.closed(a.Arrived).Balanced, count.Name)
	}
}

func TestOnlyWhatDidNotArriveFails(t *testing.T) {
	t.Parallel()
	for _, end := range Ends {
		assert.True(t, end.Missed || !end.Failed, end.Name)
		assert.Equal(t, end.Failed, end.Judged != Never, "%s: what is the pipeline's doing has a limit", end.Name)
		assert.False(t, end.Open && end.Missed, "%s: what is open may arrive", end.Name)
	}
}
