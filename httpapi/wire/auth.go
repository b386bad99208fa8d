package wire

// TokenHint is the hint of an answer 401.
const TokenHint = "send the header Authorization: Bearer SECRET; the command line takes --token, BELFRY_TOKEN or a token file"
