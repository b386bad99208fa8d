package programs

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

const (
	// signFor is the time for which a key signs before a new key replaces it.
	signFor = 30 * 24 * time.Hour
	// checkFor is the time for which a replaced key still verifies its signatures, which live for minutes.
	checkFor = 24 * time.Hour
)

// Storage of a seed: sealed, or plain without a sealer. A reader of the database could then speak for running attempts. With
// write access it could write their ends directly anyway.
const (
	keptSealed = "sealed:"
	keptPlain  = "plain:"
)

func scanSigningKey(rows base.Rows) (k signingRow, err error) {
	return k, rows.Scan(&k.ID, &k.kept, base.ScanTime(&k.CreatedAt))
}

type signingRow struct {
	access.SigningKey
	kept string
}

// SigningKeys returns the keys for tokens of attempts, the signing key first. It creates the first key, and a new one every 30
// days. A key that can no longer be opened is ignored.
func (s *Store) SigningKeys(ctx context.Context) ([]access.SigningKey, error) {
	var keys []access.SigningKey
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		keys, err = s.signingKeys(ctx, tx)
		return err
	})
	if err != nil || len(keys) > 0 && now.Sub(keys[0].CreatedAt) < signFor {
		return keys, err
	}
	err = s.write(ctx, "make signing key", func(c *Change) error {
		// Two nodes may both find no key. The second waits here and then finds the key of the first.
		if _, err := c.ReadClock(s.SQL.ForUpdate("clock")); err != nil {
			return err
		}
		if keys, err = s.signingKeys(ctx, c.Tx); err != nil {
			return err
		}
		if len(keys) > 0 && c.Now.Sub(keys[0].CreatedAt) < signFor {
			return nil
		}
		k, err := s.newSigningKey(c.Now)
		if err != nil {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `insert into belfry.signing_keys (id, sealed, created_at) values ($1, $2, $3)`, k.ID, k.kept, base.Micros(c.Now)); err != nil {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `delete from belfry.signing_keys where created_at < $1`, base.Micros(c.Now.Add(-signFor-checkFor))); err != nil {
			return err
		}
		keys = append([]access.SigningKey{k.SigningKey}, keys...)
		return c.Audit("create", "signing key", "", k.ID, "", nil, nil)
	})
	return keys, err
}

func (s *Store) signingKeys(ctx context.Context, tx base.Tx) (keys []access.SigningKey, err error) {
	rows, err := base.Collect(ctx, tx, scanSigningKey, `select id, sealed, created_at from belfry.signing_keys order by created_at desc, id`)
	for _, r := range rows {
		seed, err := s.openSeed(r.ID, r.kept)
		if err != nil || len(seed) != ed25519.SeedSize {
			s.Opt.Logger.Warn("a signing key cannot be opened, and is not used", "key", r.ID, "error", err)
			continue
		}
		r.Seed = seed
		keys = append(keys, r.SigningKey)
	}
	return keys, err
}

func (s *Store) newSigningKey(now time.Time) (k signingRow, err error) {
	k.ID, k.Seed, k.CreatedAt = strings.ToLower(rand.Text()[:16]), make([]byte, ed25519.SeedSize), now
	rand.Read(k.Seed) //nolint:errcheck // never fails, by its documentation
	if !s.Seals() {
		k.kept = keptPlain + base64.RawStdEncoding.EncodeToString(k.Seed)
		return k, nil
	}
	_, sealed, err := s.Opt.Sealer.Seal(purposeOfSigning(k.ID), k.Seed)
	k.kept = keptSealed + sealed
	return k, err
}

// ResealSigningKeys seals all signing keys again. Without it, running attempts would be refused after a key rotation. A key
// that cannot be opened is skipped.
func ResealSigningKeys(c *Change, key string) (int, error) {
	rows, err := base.Collect(c.Ctx, c.Tx, scanSigningKey, `select id, sealed, created_at from belfry.signing_keys order by id`+c.SQL.ForUpdate("signing_keys"))
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		seed, err := c.s.openSeed(r.ID, r.kept)
		if err != nil || strings.HasPrefix(r.kept, keptPlain) {
			continue
		}
		sealed, err := c.SealWith(key, purposeOfSigning(r.ID), seed)
		if err != nil {
			return 0, err
		}
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.signing_keys set sealed = $2 where id = $1`, r.ID, keptSealed+sealed); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func purposeOfSigning(id string) string { return "signing/" + id }

func (s *Store) openSeed(id, kept string) ([]byte, error) {
	if plain, ok := strings.CutPrefix(kept, keptPlain); ok {
		return base64.RawStdEncoding.DecodeString(plain)
	}
	if s.Opt.Sealer == nil {
		return nil, core.Errorf(core.Conflict, "there is no key to open signing keys with")
	}
	return s.Opt.Sealer.Open(purposeOfSigning(id), strings.TrimPrefix(kept, keptSealed))
}
