package webhook

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // GitHub's X-Hub-Signature has it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"regexp"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verifier checks the signature of a call.
type verifier interface {
	Verify(body []byte, header http.Header) error
}

// verifier checks signatures as the options say; nil: they are not checked.
func (o *Options) verifier() (verifier, error) {
	switch {
	case o.Signature != "":
		return parseSignature(o.Signature, o.Secret)
	case o.Secret != "":
		return standardwebhooks.NewWebhook(o.Secret)
	}
	return nil, nil //nolint:nilnil // no signature is checked
}

// signature is one of a pipeline's own: an HMAC of the body in a header field.
type signature struct {
	header, before string // before it in the field
	hash           func() hash.Hash
	encode         func(sum []byte) string
	secret         []byte
}

var (
	signatureText = regexp.MustCompile("^([A-Za-z0-9!#$%&'*+.^_`|~-]+): *([^{}]*)\\{\\{(\\w+):(\\w+)\\}\\}$")
	hashes        = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}
	encodings     = map[string]func([]byte) string{
		"hex": hex.EncodeToString, "base64": base64.StdEncoding.EncodeToString,
	}
)

// parseSignature reads X-Hub-Signature-256: sha256={{sha256:hex}}.
func parseSignature(text, secret string) (*signature, error) {
	found := signatureText.FindStringSubmatch(text)
	if found == nil || hashes[found[3]] == nil || encodings[found[4]] == nil {
		return nil, fmt.Errorf("webhook.signature (WEBHOOK_SIGNATURE) %q is not a header field with the HMAC of the body; "+
			"allowed: X-Hub-Signature-256: sha256={{sha256:hex}}, with sha1, sha256 or sha512, and hex or base64", text)
	}
	if secret == "" {
		return nil, errors.New("webhook.signature (WEBHOOK_SIGNATURE) is set without webhook.secret (WEBHOOK_SECRET)")
	}
	return &signature{found[1], found[2], hashes[found[3]], encodings[found[4]], []byte(secret)}, nil
}

// Verify implements verifier.
func (s *signature) Verify(body []byte, header http.Header) error {
	sum := hmac.New(s.hash, s.secret)
	sum.Write(body)
	switch given := header.Get(s.header); {
	case given == "":
		return fmt.Errorf("the call has no header field %s", s.header)
	case !hmac.Equal([]byte(given), []byte(s.before+s.encode(sum.Sum(nil)))):
		return fmt.Errorf("%s is not the signature of the body by webhook.secret (WEBHOOK_SECRET)", s.header)
	}
	return nil
}
