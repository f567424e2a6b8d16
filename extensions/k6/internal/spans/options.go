package spans

import (
	"fmt"
	"net"
	"strconv"
)

// Options are the options of new Run({ spans }); index.d.ts documents them.
type Options struct {
	Listen string       `json:"listen"` // empty: the spans come in files, after the run
	OneIn  int          `json:"oneIn"`
	Marks  []MarkOption `json:"marks"`
}

// oneInDefault samples one message in so many.
const oneInDefault = 100

// Check returns the options with their defaults, and their marks. The error says what is allowed.
func (o Options) Check() (Options, []Mark, error) {
	if o.OneIn == 0 {
		o.OneIn = oneInDefault
	}
	if o.OneIn < 1 || o.OneIn > 1_000_000 {
		return o, nil, fmt.Errorf("spans.oneIn (SPANS_ONE_IN) %d is outside 1 to 1000000", o.OneIn)
	}
	if o.Listen != "" {
		if err := o.checkListen(); err != nil {
			return o, nil, err
		}
	}
	table, err := Table(o.Marks)
	return o, table, err
}

func (o Options) checkListen() error {
	host, port, err := net.SplitHostPort(o.Listen)
	number, notNumber := strconv.Atoi(port)
	if err != nil || notNumber != nil || number < 0 || number > 65535 || host != "" && host != "localhost" &&
		net.ParseIP(host) == nil {
		return fmt.Errorf("spans.listen (SPANS) %q is not where an endpoint can be; allowed: 127.0.0.1:4318, "+
			":4318 for all addresses of this host, port 0 for a free one", o.Listen)
	}
	return nil
}
