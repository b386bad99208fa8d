//go:build linux
package bench
import ("os";"runtime/pprof")
func profile(name string) func() {
	p := os.Getenv("PROF"); if p == "" { return func(){} }
	f, _ := os.Create(p+"/"+name)
	_ = pprof.StartCPUProfile(f)
	return func(){ pprof.StopCPUProfile(); f.Close() }
}
