package console

import "testing"

func TestSealedSecretsOpenWithTheirKeyAlone(t *testing.T) {
	t.Parallel()
	a, b := newKey(), newKey()
	for _, want := range []sealed{{Secret: "belfry_secret"}, {Secret: "belfry_secret", Own: 7}} {
		box, err := a.seal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.open(box); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
		if got, err := b.open(box); err == nil {
			t.Errorf("another key opened it: %+v", got)
		}
		box[len(box)-1]++
		if got, err := a.open(box); err == nil {
			t.Errorf("opened what was changed: %+v", got)
		}
	}
}
