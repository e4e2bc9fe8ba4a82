// Goroutines, pipes, files and a child process.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	var group sync.WaitGroup
	sizes := make([]int, 50)
	for i := range sizes {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			name := fmt.Sprintf("go-%d", i)
			os.WriteFile(name, make([]byte, 1000*i), 0o600)
			data, _ := os.ReadFile(name)
			sizes[i] = len(data)
		}(i)
	}
	group.Wait()
	total := 0
	for _, size := range sizes {
		total += size
	}
	out, err := exec.Command("sh", "-c", "cat go-3 | wc -c; exit 4").Output()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(total, string(out), err, <-caught)
	os.Exit(6)
}
