package spans

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Group are spans that are alike in the messages of a run.
type Group struct {
	Service, Kind, Name string  // Name is a /regular expression/ where numbers in it differ
	Messages            int     // that have one
	Once                int     // messages with one only; a span inside of one of its own group does not count
	Start, End          float64 // medians, ms since the first span of the message begins
	Mark                *MarkOption

	pattern string
	names   map[string]bool
	starts  []float64
	ends    []float64
}

const (
	suggestedShare = 0.5  // a group that can be a mark is in this share of the messages
	onceShare      = 0.95 // this share of these have it once
)

// Trees are the spans of each message.
func (k *Keeper) Trees(kept []ledger.Kept) (all [][]runfile.SpansSpan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	clocks := make([]clock, len(k.hosts.list))
	for _, m := range k.messages(kept) {
		if len(m.groups) > 0 {
			all = append(all, k.tree(m, ledger.Kept{}, clocks))
		}
	}
	return all
}

// OtherTrees are the spans of the traces that belong to no message.
func (k *Keeper) OtherTrees() (all [][]runfile.SpansSpan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	clocks := make([]clock, len(k.hosts.list))
	for _, in := range k.order {
		if spans := k.others[in]; len(spans) > 0 {
			m := &message{groups: []*group{{tree: newTree(spans)}}}
			m.groups[0].mine = m.groups[0].ofMessage(0)
			all = append(all, k.tree(m, ledger.Kept{}, clocks))
		}
	}
	return all
}

// Suggest groups the spans of messages, in the order in which they begin, and makes marks of those that nearly each
// message has once: servers, producers, consumers, and clients where nothing else shows what is sent.
func Suggest(messages [][]runfile.SpansSpan) []*Group {
	groups := map[[3]string]*Group{}
	for _, spans := range messages {
		within := map[*Group][]runfile.SpansSpan{}
		first := first(spans)
		for _, s := range spans {
			g := groupOf(groups, s)
			if inside(s, within[g]) {
				continue
			}
			within[g] = append(within[g], s)
			g.names[s.Name] = true
			g.starts, g.ends = append(g.starts, s.StartMS-first), append(g.ends, s.EndMS-first)
		}
		for g, own := range within {
			g.Messages++
			if len(own) == 1 {
				g.Once++
			}
		}
	}
	all := make([]*Group, 0, len(groups))
	for _, g := range groups {
		g.Start, g.End, g.Name = median(g.starts), median(g.ends), g.name()
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End),
			cmp.Compare(a.Service+a.Name, b.Service+b.Name))
	})
	propose(all, len(messages))
	return all
}

func first(spans []runfile.SpansSpan) float64 {
	return slices.MinFunc(spans, func(a, b runfile.SpansSpan) int { return cmp.Compare(a.StartMS, b.StartMS) }).StartMS
}

// inside reports whether a span is inside of one of these: of nested ones the outermost is the mark.
func inside(s runfile.SpansSpan, of []runfile.SpansSpan) bool {
	return slices.ContainsFunc(of, func(o runfile.SpansSpan) bool {
		return o.Depth < s.Depth && o.StartMS <= s.StartMS && s.EndMS <= o.EndMS
	})
}

// varying are the parts of a name that may differ from message to message.
var varying = regexp.MustCompile(`[0-9a-fA-F]{8}[0-9a-fA-F-]*|[0-9]+`)

const variant = "\x00"

func groupOf(groups map[[3]string]*Group, s runfile.SpansSpan) *Group {
	pattern := varying.ReplaceAllLiteralString(s.Name, variant)
	key := [3]string{s.Service, s.Kind, pattern}
	if groups[key] == nil {
		groups[key] = &Group{Service: s.Service, Kind: s.Kind, pattern: pattern, names: map[string]bool{}}
	}
	return groups[key]
}

func (g *Group) name() string {
	if len(g.names) > 1 {
		return "/^" + strings.ReplaceAll(regexp.QuoteMeta(g.pattern), variant, "[0-9a-fA-F-]+") + "$/"
	}
	for name := range g.names {
		if strings.HasPrefix(name, "/") && strings.HasSuffix(name, "/") { // it would be taken for an expression
			return "/^" + regexp.QuoteMeta(name) + "$/"
		}
		return name
	}
	return ""
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// propose makes marks of groups.
func propose(all []*Group, messages int) {
	fits := func(g *Group, kinds ...string) bool {
		return slices.Contains(kinds, g.Kind) && float64(g.Messages) >= suggestedShare*float64(messages) &&
			float64(g.Once) >= onceShare*float64(g.Messages)
	}
	produces, consumed := map[string]bool{}, false
	for _, g := range all {
		produces[g.Service] = produces[g.Service] || fits(g, "producer")
	}
	used, n := map[string]bool{}, 0
	for _, g := range all {
		if n == stages.Most-2 || !fits(g, "server", "producer", "consumer", "client") || g.Kind == "client" &&
			produces[g.Service] {
			continue
		}
		consumed = consumed || g.Kind == "consumer"
		o := &MarkOption{Mark: g.markName(consumed, used), At: "start"}
		o.Span.Kind, o.Span.Name, o.Span.Service = g.Kind, g.Name, g.Service
		if g.Kind == "consumer" && strings.Contains(strings.ToLower(g.Name), "receive") {
			o.At = "end" // it begins before there is a message
		}
		g.Mark, used[o.Mark] = o, true
		n++
	}
}

var noLetters = regexp.MustCompile(`[^a-z0-9]+`)

// markName is the name that Default has for such a span, or else one of the span's own.
func (g *Group) markName(consumed bool, used map[string]bool) string {
	name := map[string]string{"server": "received", "producer": "queued", "consumer": "claimed"}[g.Kind]
	if g.Kind != "consumer" && g.Kind != "server" && consumed {
		name = "published"
	}
	if name == "" || used[name] {
		name = strings.Trim(noLetters.ReplaceAllString(strings.ToLower(strings.ReplaceAll(g.pattern, variant, " ")),
			"_"), "_")
		if !markLike.MatchString(name[:min(len(name), 1)]) {
			name = g.Kind
		}
	}
	const most = 13 // leaves room for a number
	name = strings.TrimRight(name[:min(len(name), most)], "_")
	for free, i := name, 2; ; free, i = fmt.Sprint(name, i), i+1 {
		if !used[free] && !slices.Contains(outer, free) {
			return free
		}
	}
}
