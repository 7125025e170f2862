// Clock calls franz-go's messages; programs/README.md says what it is asked.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type message interface {
	MaxVersion() int16
	SetVersion(int16)
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}

// loaded is one message at one version, and its bodies.
type loaded struct {
	make     func() message
	version  int16
	bodies   [][]byte
	messages []message
}

var sink any

func load(words []string) (*loaded, error) {
	key, _ := strconv.ParseInt(words[1], 10, 16)
	version, _ := strconv.ParseInt(words[3], 10, 16)
	one := &loaded{version: int16(version)}
	if words[2] == "request" {
		one.make = func() message { return kmsg.RequestForKey(int16(key)) }
	} else {
		one.make = func() message { return kmsg.ResponseForKey(int16(key)) }
	}
	if kmsg.RequestForKey(int16(key)) == nil || one.make().MaxVersion() < one.version {
		return nil, fmt.Errorf("api key %d has no version %d", key, version)
	}
	data, err := os.ReadFile(words[4])
	if err != nil {
		return nil, err
	}
	var again []byte
	for len(data) > 0 {
		size := binary.BigEndian.Uint32(data)
		body := data[4 : 4+size]
		data = data[4+size:]
		read, err := one.decode(body)
		if err != nil {
			return nil, err
		}
		one.bodies = append(one.bodies, body)
		one.messages = append(one.messages, read)
		written := read.AppendTo(nil)
		again = binary.BigEndian.AppendUint32(again, uint32(len(written)))
		again = append(again, written...)
	}
	return one, os.WriteFile(words[4]+".again", again, 0o600)
}

func (one *loaded) decode(body []byte) (message, error) {
	read := one.make()
	read.SetVersion(one.version)
	return read, read.ReadFrom(body)
}

func (one *loaded) call(decodes bool, number int) {
	index := number % len(one.bodies)
	if decodes {
		sink, _ = one.decode(one.bodies[index])
	} else {
		sink = one.messages[index].AppendTo(nil)
	}
}

func (one *loaded) calls(decodes bool, slot time.Duration) int {
	count := 0
	for end := time.Now().Add(slot); time.Now().Before(end); {
		for batch := count + 1; batch > 0; batch-- {
			one.call(decodes, count)
			count++
		}
	}
	return count
}

func main() {
	var all []*loaded
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 5)
		if words[0] == "load" {
			one, err := load(words)
			if err != nil {
				fmt.Println("no", err)
				continue
			}
			all = append(all, one)
			fmt.Println("ok")
			continue
		}
		number, _ := strconv.Atoi(words[1])
		slot, _ := strconv.ParseInt(words[2], 10, 64)
		fmt.Println(all[number].calls(words[0] == "decode", time.Duration(slot)))
	}
}
