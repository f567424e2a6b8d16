package words

import "slices"

// Like returns the allowed name that a wrong one was meant to be, as `like` of pipeline/shared/flags.ts does. Empty:
// none is near.
func Like(name string, allowed []string) string {
	if len(allowed) == 0 {
		return ""
	}
	near := slices.MinFunc(allowed, func(a, b string) int { return distance(name, a) - distance(name, b) })
	if 2*distance(name, near) <= max(2, min(6, len(name))) {
		return near
	}
	return ""
}

// distance is Levenshtein's: how many letters have to be added, removed or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
