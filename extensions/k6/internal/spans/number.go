package spans

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
)

// Mixing maps the numbers of a run's messages to trace ids and back, by one block of AES: so the ids are uniform in
// every byte, as samplers want them, and a trace id names its message without a map. The key follows from the run's id,
// so that files of spans can be joined later; it hides nothing.
type Mixing struct{ block cipher.Block }

// mark is the first half of a block before it is encrypted. Of a foreign trace id it comes out once in 2⁶⁴.
const mark = 0x6172_7269_7661_6c00 // "arrival"

// NewMixing returns the mixing of a run.
func NewMixing(run string) Mixing {
	key := sha256.Sum256([]byte("trace ids of run " + run))
	block, _ := aes.NewCipher(key[:aes.BlockSize]) // no error: the key has 16 bytes
	return Mixing{block}
}

// TraceOf is the trace id of message number n.
func (m Mixing) TraceOf(n int) (id trace) {
	binary.BigEndian.PutUint64(id[:8], mark)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	m.block.Encrypt(id[:], id[:])
	return id
}

// OfGenerator is how many numbers a generator has.
const OfGenerator = 1 << 40

// Number is the number that a message has among those of all generators of a run. id is its number in ids.
func Number(generator, id int) int { return (generator-1)*OfGenerator + id }

// Owner is the inverse of Number.
func Owner(n int) (generator, id int) { return n/OfGenerator + 1, n % OfGenerator }

// NumberOf is the number of the message whose trace this is; ok is false for other traces.
func (m Mixing) NumberOf(id []byte) (n int, ok bool) {
	var b [16]byte
	if len(id) != len(b) {
		return 0, false
	}
	m.block.Decrypt(b[:], id)
	number := binary.BigEndian.Uint64(b[8:])
	return int(number), binary.BigEndian.Uint64(b[:8]) == mark && number < 1<<54
}

// Picked is the message of a request that is sampled, or else its first one: each message with the chance 1 / oneIn,
// but at most one of a request. Which one follows from a hash, not from a remainder: every hundredth message may have
// the same target.
func Picked(first, messages, oneIn int) (n int, ok bool) {
	x := uint64(first) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	if at := int((x ^ x>>31) % uint64(oneIn)); at < messages {
		return first + at, true
	}
	return first, false
}
