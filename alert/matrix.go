package alert

import (
	"regexp"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// MatrixChannel sends to a room of Matrix, as a user that is a member.
type MatrixChannel struct {
	Server string      `json:"server" doc:"URL of the homeserver"`
	Room   string      `json:"room" doc:"Id of the room, such as !abc:example.com"`
	Token  core.Secret `json:"token" doc:"Access token of the user"`
}

var matrixRoom = regexp.MustCompile(`^![^\s/?#]{1,254}$`)

func (m MatrixChannel) validate() error {
	var p core.Problems
	core.CheckURL(&p, "server", m.Server, "http", "https")
	if !matrixRoom.MatchString(m.Room) {
		p.Add("room", m.Room, "is not the id of a room", "such as !abc:example.com; the settings of the room show it")
	}
	checkToken(&p, "token", m.Token)
	if m.Token == "" {
		p.Add("token", "", "is missing", "the access token of a user who is in the room")
	}
	return p.Err("matrix")
}

var matrixKind = Kind{
	Name: "matrix", Title: "Matrix", Flag: "matrix",
	Fields: []setting.Field{
		{Path: "room", Flag: "matrix", Usage: "id of a room of Matrix, told by the user of --access-token at --homeserver", Label: "Room", Need: true, Hint: "Its id, such as !abc:example.com"},
		{Path: "server", Flag: "homeserver", Usage: "URL of the homeserver", Label: "Homeserver", Need: true, Hint: "Such as https://matrix.example.com"},
		{Path: "token", As: setting.Secret, Flag: "access-token", Usage: "token", Label: "Access token", Need: true, Hint: "Of a user who is in the room. It is never shown."},
	},
	part: setting.At(func(c *Channel) **MatrixChannel { return &c.Matrix }, nil, MatrixChannel.validate),
	same: func(c, old Channel) bool { return c.Matrix.Server == old.Matrix.Server },
	goal: func(c Channel) Goal { return Goal{What: "room ", To: c.Matrix.Room, By: c.Matrix.Server} },
	facts: func(c Channel) (f setting.Facts) {
		f.Add(true, "token", "%s", c.Matrix.Token)
		return f
	},
}
