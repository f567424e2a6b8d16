package words

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLikeNamesWhatWasMeant(t *testing.T) {
	t.Parallel()
	allowed := []string{"address", "path", "url", "qos"}
	for name, want := range map[string]string{
		"adress": "address", "Address": "address", "ulr": "", "ur": "url", "pth": "path", "paths": "path",
		"topic": "", "": "", "größe": "", "haeders": "",
	} {
		assert.Equal(t, want, Like(name, allowed), name)
	}
	assert.Empty(t, Like("url", nil))
}
