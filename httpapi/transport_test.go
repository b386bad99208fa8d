package httpapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
)
