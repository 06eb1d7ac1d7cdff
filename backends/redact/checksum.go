// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
	"time"
)

// hasDigits accepts texts with so many digits.
func hasDigits(least, most int) func(string) bool {
	return func(s string) bool {
		n := len(strings.TrimPrefix(s, "2B")) // %2B is a plus
		return least <= n && n <= most
	}
}

// issuers are the first digits of the cards of Visa, Mastercard, American Express, Diners,
// Discover, JCB, UnionPay, Maestro and Mir, with their numbers of digits.
var issuers = regexp.MustCompile(`^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12}|(?:6011|64[4-9]\d|65\d\d|35[2-8]\d)\d{12}|(?:62|81)\d{14,17}|(?:50|5[6-9]|6[37])\d{14})$`)

// isCard checks the issuer and Luhn's sum.
func isCard(s string) bool {
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && issuers.MatchString(s)
}

// ibanLengths are how many characters an account number has, from the registry of ISO 13616.
const ibanLengths = "AD24 AE23 AT20 BE16 BG22 BR29 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HR21 HU28 IE22 IL23 IS26 IT27 LT20 LU20 LV21 MC27 MT31 NL18 NO15 PL28 PT25 RO24 RS22 SA24 SE24 SI19 SK24 TR26 UA29"

// isIBAN checks the country, its length and ISO 7064 MOD 97-10.
func isIBAN(s string) bool {
	i := strings.Index(ibanLengths, s[:2])
	if i < 0 || len(s) != 10*int(ibanLengths[i+2]-'0')+int(ibanLengths[i+3]-'0') {
		return false
	}
	rest := 0
	for _, c := range []byte(s[4:] + s[:4]) {
		if isDigit(c) {
			rest = (10*rest + int(c-'0')) % 97
		} else {
			rest = (100*rest + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// isChineseID checks the day of birth and ISO 7064 MOD 11-2.
func isChineseID(s string) bool {
	if _, err := time.Parse("20060102", s[6:14]); err != nil || s[6:8] != "19" && s[6:8] != "20" {
		return false
	}
	sum := 0
	for i, weight := range []int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2} {
		sum += weight * int(s[i]-'0')
	}
	return s[17] == "10X98765432"[sum%11]
}

// isSpanishID checks the letter; of foreigners X, Y and Z stand for 0, 1 and 2.
func isSpanishID(s string) bool {
	n := 0
	for _, c := range []byte(s[:8]) {
		if c >= 'X' {
			c -= 'X' - '0'
		}
		n = 10*n + int(c-'0')
	}
	return s[8] == "TRWAGMYFPDXBNJZSQVHLCKE"[n%23]
}

// isCPF checks both digits; numbers of one repeated digit are invalid.
func isCPF(s string) bool {
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += (n + 1 - i) * int(s[i]-'0')
		}
		if int(s[n]-'0') != 10*sum%11%10 {
			return false
		}
	}
	return strings.Trim(s, s[:1]) != ""
}
