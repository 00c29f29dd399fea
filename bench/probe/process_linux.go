package probe

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// tick is the unit of CPU times in /proc/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// CPU is the user and system time that processes have used.
func CPU(pids ...int) (total time.Duration, err error) {
	for _, pid := range pids {
		d, err := processCPU(pid)
		if err != nil {
			return 0, err
		}
		total += d
	}
	return total, nil
}

func processCPU(pid int) (time.Duration, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("probe: no process %d", pid)
	}
	// A process's CPU clock, as clock_getcpuclockid(3) makes it: nanoseconds, where /proc has ticks.
	const clockSched = 2
	d, err := clock(uintptr(^pid)<<3 | clockSched)
	if err != nil {
		return 0, fmt.Errorf("probe: CPU time of process %d: %w", pid, err)
	}
	return d, nil
}

func clock(id uintptr) (time.Duration, error) {
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(ts.Nano()), nil
}

// MachineBusy is the CPU time that everything on the machine has used.
func MachineBusy() (time.Duration, error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	var sum int64
	for i, f := range fields {
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("probe: /proc/stat: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// Load is the load average of the last minute.
func Load() (float64, error) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, fmt.Errorf("probe: %w", err)
	}
	one, _, _ := strings.Cut(string(raw), " ")
	return strconv.ParseFloat(one, 64)
}

// Processor names the CPU.
func Processor() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// RSS is the resident memory of a process in bytes, and how much of it are pages of files.
func RSS(pid int) (total, file int64, err error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, 0, fmt.Errorf("probe: %w", err)
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(raw), &size, &resident, &shared); err != nil {
		return 0, 0, fmt.Errorf("probe: /proc/%d/statm: %w", pid, err)
	}
	page := int64(os.Getpagesize())
	return resident * page, shared * page, nil
}

// ThreadCPU is the CPU time of the calling thread, which must be locked to its goroutine.
func ThreadCPU() time.Duration {
	const clockThreadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	d, err := clock(clockThreadCPU)
	if err != nil {
		return 0
	}
	return d
}
