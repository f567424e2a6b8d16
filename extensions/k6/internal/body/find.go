package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// finder finds the numbers in the ids of one name, in the texts where ids stand.
type finder struct {
	prefix string // begins ids: <run>.<generator>. as their form has it
	mark   []byte // the prefix as it appears in a message
	quoted bool   // ids have quotes
	digits int    // how many a number has; 0: as many as it needs
	key    string // the JSON key of ids, with its quotes; empty: they have none
}

// finder finds the ids that begin with the prefix of a name.
func (f Format) finder(name string) finder {
	prefix := f.Form.Prefix(name)
	// Between quotes, unless a template or a place says how ids stand, or they are numbers.
	quoted := f.Template == "" && f.From == nil && f.Form != Number && !f.Anywhere
	found := finder{prefix: prefix, mark: []byte(prefix), quoted: quoted, digits: f.Form.digits()}
	if quoted {
		found.mark = []byte(`"` + prefix)
	}
	if f.From == nil { // otherwise it is known where ids are
		found.key = f.key()
	}
	return found
}

// numbers appends the numbers of the messages that a text holds: one, or several of a batch or a pack. The run's name
// is random, so the prefix identifies an id without parsing the text. Where it has the ids of several messages,
// and some of them at the key of the id (in the template: the key before {{id}}), the others are only mentioned, as in
// {"id": …, "previous": …}.
func (f *finder) numbers(text []byte, found []int) []int {
	first, _, end, ok := f.next(text, 0)
	if !ok {
		if number, alone := f.alone(text); alone {
			return append(found, number)
		}
		return found
	}
	for at := end; ; {
		var another int
		another, _, at, ok = f.next(text, at)
		if !ok {
			return append(found, first)
		}
		if another != first {
			return append(found, f.several(text)...)
		}
	}
}

// several is numbers of a text with more than one id.
func (f *finder) several(text []byte) []int {
	var all, keyed []int
	seen, seenAtKey := map[int]bool{}, map[int]bool{}
	for at := 0; ; {
		number, begin, end, ok := f.next(text, at)
		if !ok {
			break
		}
		at = end
		if !seen[number] {
			seen[number] = true
			all = append(all, number)
		}
		if !seenAtKey[number] && f.atKey(text[:begin]) {
			seenAtKey[number] = true
			keyed = append(keyed, number)
		}
	}
	if len(keyed) > 0 {
		return keyed
	}
	return all
}

// atKey reports whether the key of the id, a colon, and perhaps a quote end a text.
func (f *finder) atKey(before []byte) bool {
	if f.key == "" {
		return false
	}
	before = bytes.TrimRight(before, "\" \t\r\n")
	before, ok := bytes.CutSuffix(before, []byte(":"))
	return ok && bytes.HasSuffix(bytes.TrimRight(before, " \t\r\n"), []byte(f.key))
}

// alone is the number in a text that is an id and nothing else.
func (f *finder) alone(text []byte) (number int, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(f.prefix))
	if !ok || len(rest) == 0 || len(rest) > numberMost || len(bytes.Trim(rest, "0123456789")) > 0 {
		return 0, false
	}
	number, err := strconv.Atoi(string(rest))
	return number, err == nil
}

// IsID reports whether a text is an id of this name and nothing else.
func (f *finder) IsID(text []byte) bool {
	_, ok := f.alone(text)
	return ok
}

func (f *finder) next(text []byte, from int) (n, begin, end int, ok bool) {
	return find(text, f.mark, f.quoted, f.digits, from)
}

// Seqs appends the numbers in the ledger of the messages that a text holds.
func (b *Bodies) Seqs(text []byte, seqs []int) []int {
	before := len(seqs)
	seqs = b.numbers(text, seqs)
	known := seqs[:before]
	for _, number := range seqs[before:] {
		if seq, ok := b.schedule.SeqOf(number); ok {
			known = append(known, seq)
		}
	}
	return known
}

// Sibling reports whether a message is of another generator of this run.
func (b *Bodies) Sibling(payload []byte) bool {
	i := bytes.Index(payload, b.family)
	if i < 0 || len(b.family) == 0 {
		return false
	}
	generator, _, ok := bytes.Cut(payload[i+len(b.family):], []byte("."))
	return ok && len(generator) > 0 && len(bytes.Trim(generator, "0123456789")) == 0
}

// numberMost is how many digits a number may have.
const numberMost = 12

// find finds the first number that follows a prefix, from a place on, up to the closing quote where ids are quoted.
// Without quotes, the prefix may also be the end of a longer one, which belongs to other runs. digits is how many
// digits the number has; 0: any. The prefix begins at begin, and the number ends before end.
func find(payload, prefix []byte, quoted bool, digits, from int) (n, begin, end int, ok bool) {
	for {
		i := bytes.Index(payload[from:], prefix)
		if i < 0 {
			return 0, 0, 0, false
		}
		begin = from + i
		from = begin + len(prefix)
		if !quoted && begin > 0 && inName(payload[begin-1]) {
			continue
		}
		n, end = 0, from
		for end < len(payload) && end-from < numberMost && payload[end] >= '0' && payload[end] <= '9' {
			n = n*10 + int(payload[end]-'0')
			end++
		}
		if end > from && (digits == 0 || end-from == digits) && (!quoted || end < len(payload) && payload[end] == '"') {
			return n, begin, end, true
		}
	}
}

func inName(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// Place says where the id of a message stands in a payload that holds it.
func (s *Single) Place(n int, payload []byte) string {
	id := string(s.format.Form.Append([]byte(s.prefix), n))
	if from := s.format.From; from != nil {
		return fmt.Sprintf("found at %s (ID_FROM)", from)
	}
	if s.IsID(payload) {
		return "found: it is the whole message"
	}
	if v, err := fromJSON(payload); err == nil {
		if path := pathOf(v, id, "$"); path != "" {
			return "found at " + path
		}
	}
	return fmt.Sprintf("found at byte %d of %d", bytes.Index(payload, []byte(id)), len(payload))
}

// plainKey matches keys that need no quotes in a path.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pathOf is the path of the first value of JSON that has an id; empty: none has it.
func pathOf(v any, id, path string) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := path + "." + key
			if !plainKey.MatchString(key) {
				below = fmt.Sprintf("%s[%q]", path, key)
			}
			if found := pathOf(v[key], id, below); found != "" {
				return found
			}
		}
	case []any:
		for i, one := range v {
			if found := pathOf(one, id, fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}
	case string, json.Number:
		if strings.Contains(fmt.Sprint(v), id) {
			return path
		}
	}
	return ""
}
