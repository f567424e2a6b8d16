// Code generated from reports/contract/judging.json; DO NOT EDIT.

package runfile

// Numbers by which runs are judged: the share of a host's CPU, in %, from which what the hypervisor took is worth saying.
const (
	StealMuch = 2
)
