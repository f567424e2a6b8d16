package merge

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// combined merges records field by field, as the tag `merge` of each field says:
//
//	sum     of whole numbers; of pointers nil if one is
//	max     the largest; nil is unknown
//	min     the smallest
//	last    the largest; nil if one is, as that instance has not come so far
//	and     of bools
//	first   the first that is known: all instances have the same
//	hist    distributions, by their histograms
//	mean    short distributions, without percentiles
//	fields  a struct, by the tags of its fields
//	own     nothing: the caller sets it
//
// It returns nil if all records are nil.
func combined[T any](parts []*T) *T {
	parts = known(parts)
	if len(parts) == 0 {
		return nil
	}
	all := new(T)
	fields(reflect.ValueOf(all).Elem(), each(parts, func(p *T) reflect.Value { return reflect.ValueOf(p).Elem() }))
	return all
}

func known[T any](parts []*T) []*T {
	return slices.DeleteFunc(slices.Clone(parts), func(p *T) bool { return p == nil })
}

func fields(to reflect.Value, parts []reflect.Value) {
	for i := range to.NumField() {
		field := to.Type().Field(i)
		merge, found := rules[field.Tag.Get("merge")]
		if !found {
			must.Fail("%s.%s has no rule for merging", to.Type(), field.Name)
		}
		own := each(parts, func(p reflect.Value) reflect.Value { return p.Field(i) })
		if !merge(to.Field(i), own) {
			must.Fail("%s.%s has a rule for merging that does not fit its type", to.Type(), field.Name)
		}
	}
}

// rules are how a field is merged. One returns false for a field of a type that it is not for.
var rules map[string]func(to reflect.Value, parts []reflect.Value) bool

func init() { // fields uses it
	rules = map[string]func(to reflect.Value, parts []reflect.Value) bool{
		"own":    func(reflect.Value, []reflect.Value) bool { return true },
		"sum":    sum,
		"max":    func(to reflect.Value, parts []reflect.Value) bool { return chosen(to, parts, larger, true) },
		"min":    func(to reflect.Value, parts []reflect.Value) bool { return chosen(to, parts, smaller, true) },
		"last":   func(to reflect.Value, parts []reflect.Value) bool { return chosen(to, parts, larger, false) },
		"and":    and,
		"first":  first,
		"hist":   hist,
		"mean":   mean,
		"fields": nested,
	}
}

func sum(to reflect.Value, parts []reflect.Value) bool {
	if to.Kind() == reflect.Pointer {
		if to.Type().Elem().Kind() != reflect.Int {
			return false
		}
		if slices.ContainsFunc(parts, reflect.Value.IsNil) {
			return true
		}
		to.Set(reflect.New(to.Type().Elem()))
		return sum(to.Elem(), each(parts, reflect.Value.Elem))
	}
	if !to.CanInt() {
		return false
	}
	for _, p := range parts {
		to.SetInt(to.Int() + p.Int())
	}
	return true
}

func larger(a, b float64) bool  { return a > b }
func smaller(a, b float64) bool { return a < b }

// chosen takes the best number. Unless nilIsUnknown, a nil is the best.
func chosen(to reflect.Value, parts []reflect.Value, better func(a, b float64) bool, nilIsUnknown bool) bool {
	of := to.Type()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Float64 && of.Kind() != reflect.Int {
		return false
	}
	var best *float64
	for _, p := range parts {
		if p.Kind() == reflect.Pointer {
			if p.IsNil() && !nilIsUnknown {
				return true
			}
			if p.IsNil() {
				continue
			}
			p = p.Elem()
		}
		value := p.Convert(reflect.TypeFor[float64]()).Float()
		if best == nil || better(value, *best) {
			best = &value
		}
	}
	if best == nil {
		return true
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(of))
		to = to.Elem()
	}
	to.Set(reflect.ValueOf(*best).Convert(of))
	return true
}

func and(to reflect.Value, parts []reflect.Value) bool {
	if to.Kind() != reflect.Bool {
		return false
	}
	to.SetBool(!slices.ContainsFunc(parts, func(p reflect.Value) bool { return !p.Bool() }))
	return true
}

func first(to reflect.Value, parts []reflect.Value) bool {
	for _, p := range parts {
		if p.Kind() != reflect.Pointer || !p.IsNil() {
			to.Set(p)
			break
		}
	}
	return true
}

func hist(to reflect.Value, parts []reflect.Value) bool {
	switch to := to.Addr().Interface().(type) {
	case *runfile.Latency:
		*to = *latency(each(parts,
			func(p reflect.Value) *runfile.Latency { return p.Addr().Interface().(*runfile.Latency) }))
	case **runfile.Latency:
		*to = latency(values[*runfile.Latency](parts))
	case *map[string]runfile.Latency:
		*to = map[string]runfile.Latency{}
		for name := range parts[0].Interface().(map[string]runfile.Latency) {
			latencies := values[map[string]runfile.Latency](parts)
			own := each(latencies, func(of map[string]runfile.Latency) *runfile.Latency { return new(of[name]) })
			(*to)[name] = *latency(own)
		}
	default:
		return false
	}
	return true
}

func mean(to reflect.Value, parts []reflect.Value) bool {
	all, fits := to.Addr().Interface().(**runfile.Quantiles)
	if !fits {
		return false
	}
	if own := values[*runfile.Quantiles](parts); len(own) == 1 { // one alone keeps its percentiles
		*all = own[0]
	} else {
		*all = quantiles(own)
	}
	return true
}

func nested(to reflect.Value, parts []reflect.Value) bool {
	if to.Kind() == reflect.Pointer {
		parts = slices.DeleteFunc(parts, reflect.Value.IsNil)
		if len(parts) == 0 {
			return true
		}
		to.Set(reflect.New(to.Type().Elem()))
		to, parts = to.Elem(), each(parts, reflect.Value.Elem)
	}
	if to.Kind() != reflect.Struct {
		return false
	}
	fields(to, parts)
	return true
}

func values[T any](of []reflect.Value) []T {
	return each(of, func(v reflect.Value) T { return v.Interface().(T) })
}

// most is the larger value; nil is unknown.
func most(a, b *float64) *float64 {
	if a == nil || b != nil && cmp.Compare(*b, *a) > 0 {
		return b
	}
	return a
}
