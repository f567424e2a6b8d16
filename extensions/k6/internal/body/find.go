package body

import "bytes"

// Number is the number in the id of a message whose id begins with the prefix of a name, found as Seqs finds those of
// the load. Of ids in a header field it gets the text that was found there, and not the payload.
func (f Format) Number(payload []byte, prefix string) (int, bool) {
	prefix = f.Form.Prefix(prefix)
	if f.quoted() {
		prefix = `"` + prefix
	}
	if f.From != nil && f.From.Header == "" {
		payload = f.From.In(payload, nil)
	}
	n, _, _, ok := find(payload, []byte(prefix), f.quoted(), f.Form.digits(), 0)
	return n, ok
}

// quoted reports whether ids stand between quotes in what arrives.
func (f Format) quoted() bool { return f.Template == "" && f.From == nil && f.Form != Number }

// Seqs appends the numbers in the ledger of the messages that a payload holds: one, or several of a batch or a pack.
// The run's name is random, so <run>.<generator>. identifies an id without parsing the payload. Where the ids of
// several messages stand in it, and some of them at the key of the id (in the template: the key before {{id}}), the
// others are only mentioned, as in {"id": …, "previous": …}.
func (b *Bodies) Seqs(payload []byte, seqs []int) []int {
	first, _, end, ok := b.find(payload, 0)
	if !ok {
		if number, alone := b.alone(payload); alone {
			return b.appendSeq(seqs, number)
		}
		return seqs
	}
	for at := end; ; {
		var another int
		another, _, at, ok = b.find(payload, at)
		if !ok {
			return b.appendSeq(seqs, first)
		}
		if another != first {
			return b.several(payload, seqs)
		}
	}
}

func (b *Bodies) appendSeq(seqs []int, number int) []int {
	if seq, ok := b.schedule.SeqOf(number); ok {
		return append(seqs, seq)
	}
	return seqs
}

// several is Seqs of a payload with more than one id.
func (b *Bodies) several(payload []byte, seqs []int) []int {
	var all, keyed []int
	seen, seenAtKey := map[int]bool{}, map[int]bool{}
	for at := 0; ; {
		number, begin, end, ok := b.find(payload, at)
		if !ok {
			break
		}
		at = end
		if !seen[number] {
			seen[number] = true
			all = append(all, number)
		}
		if !seenAtKey[number] && b.atKey(payload[:begin]) {
			seenAtKey[number] = true
			keyed = append(keyed, number)
		}
	}
	if len(keyed) > 0 {
		all = keyed
	}
	for _, number := range all {
		seqs = b.appendSeq(seqs, number)
	}
	return seqs
}

// atKey reports whether the key of the id, a colon, and perhaps a quote end a text.
func (b *Bodies) atKey(before []byte) bool {
	if b.key == "" {
		return false
	}
	before = bytes.TrimRight(before, "\" \t\r\n")
	before, ok := bytes.CutSuffix(before, []byte(":"))
	return ok && bytes.HasSuffix(bytes.TrimRight(before, " \t\r\n"), []byte(b.key))
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

// NumberAfter finds the first number that follows a prefix, up to the closing quote where ids are quoted. Without
// quotes, the prefix may also be the end of a longer one, which belongs to others.
func NumberAfter(payload, prefix []byte, quoted bool) (int, bool) {
	n, _, _, ok := find(payload, prefix, quoted, 0, 0)
	return n, ok
}

func (b *Bodies) find(payload []byte, from int) (n, begin, end int, ok bool) {
	return find(payload, b.mark, b.quoted, b.format.Form.digits(), from)
}

// numberMost is how many digits a number may have.
const numberMost = 12

// find is NumberAfter from a place on, of a number with so many digits; 0: any number of them. The prefix begins at
// begin, and the number ends before end.
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
