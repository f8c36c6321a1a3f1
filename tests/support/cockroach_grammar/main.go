// Reads SQL from stdin, one statement a line, and prints each that CockroachDB's parser rejects, with the reason.
// It is built inside a checkout of that parser: tests/contract/test_cockroachdb_grammar.py.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/cockroachdb/cockroachdb-parser/pkg/sql/parser"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	parsed := 0
	for lines.Scan() {
		if _, err := parser.Parse(lines.Text()); err != nil {
			fmt.Printf("%v: %s\n", err, lines.Text())
			continue
		}
		parsed++
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
	fmt.Println(parsed, "parsed")
}
