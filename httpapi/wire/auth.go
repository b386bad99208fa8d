package wire

const TokenHint = "send the header Authorization: Bearer SECRET; the command line takes --token, BELFRY_TOKEN or a token file"
