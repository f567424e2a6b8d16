package arrival

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"go.k6.io/k6/v2/lib"
)

// trust is whom the run believes that it speaks to the right server.
type trust struct {
	ca string // PEM; empty: whom k6 trusts

	once  sync.Once
	roots *x509.CertPool // the system's and those of ca; nil: the system's
}

// config is k6's own configuration of TLS, with the authorities of ca beside those of the system.
func (t *trust) config(state *lib.State) *tls.Config {
	t.once.Do(func() {
		if t.ca == "" {
			return
		}
		roots, err := x509.SystemCertPool()
		if err != nil { // a machine without any
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM([]byte(t.ca))
		t.roots = roots
	})
	if state.TLSConfig == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.roots}
	}
	config := state.TLSConfig.Clone()
	if t.roots != nil {
		config.RootCAs = t.roots
	}
	return config
}

// advise adds to an error of a connection what a user can do about it.
func advise(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w (ca, TLS_CA: the file of its authority)", err)
	}
	return err
}

// withoutURL takes the address, which may hold a password, off an error of net/url.
func withoutURL(err error) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}
