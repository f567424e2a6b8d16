// Code generated from reports/contract/limits.json; DO NOT EDIT.

package runfile

// The most that a reader of a run takes, in Go and in TypeScript. A run of a day has 65 MB (100 MB by jq) and 5 million values.
const (
	limitFileBytes          = 400000000
	limitHistogramBytes     = 4194304
	limitHistogramDigits    = 3
	limitHistogramHighestUS = 3600000000
	limitJSONValues         = 20000000
	limitLogInflatesTimes   = 64
	limitLogLines           = 1000000
	limitMemberBytes        = 1048576
	limitStreamBytes        = 4000000000
	limitSummaryBytes       = 262144
	limitTimelineLineBytes  = 1048576
	limitTimelineSeconds    = 1000000
)
