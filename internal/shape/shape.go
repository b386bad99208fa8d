// Package shape measures the packages of a Go module: their size, names, imports, largest type and longest function.
// Its test enforces the limits of Belfry's packages.
package shape

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Count is a name with a number.
type Count struct {
	Name string
	N    int
}

// Package is the shape of one package, without its tests.
type Package struct {
	Folder   string   // within the module, "." for its root
	Lines    int      // of all files, for every platform
	Comments int      // lines with only a comment
	Exported int      // names at package level; methods and fields do not count
	Imports  []string // folders of the module's own packages that it imports, sorted
	Types    []Count  // types with methods, the one with most of them first
	Function Count    // the longest function, in lines
}

// Largest returns the type with the most methods.
func (p Package) Largest() Count {
	if len(p.Types) == 0 {
		return Count{}
	}
	return p.Types[0]
}

// CommentShare returns the share of lines with only a comment, in percent.
func (p Package) CommentShare() float64 {
	if p.Lines == 0 {
		return 0
	}
	return 100 * float64(p.Comments) / float64(p.Lines)
}

// Read measures every package of the project in root, sorted by folder. It reads the files itself and
// runs no go command, so files for every platform count.
func Read(root, module string) ([]Package, error) {
	drafts := map[string]*draft{}
	err := Walk(root, func(relative, name string) error {
		folder := path.Dir(relative)
		if drafts[folder] == nil {
			drafts[folder] = newDraft(folder, module)
		}
		return drafts[folder].add(name)
	})
	if err != nil {
		return nil, err
	}
	var list []Package
	for _, folder := range slices.Sorted(maps.Keys(drafts)) {
		list = append(list, drafts[folder].finish())
	}
	return list, nil
}

// Walk calls visit with each Go file of the project that is not a test: its path from the root, with slashes, and its name.
// It leaves out the folders of [Skips].
func Walk(root string, visit func(relative, name string) error) error {
	skips, err := Skips(root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && skips(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(relative), name)
	})
}

// draft collects a package. Names are sets: a function that each platform has in a file of its own is one name.
type draft struct {
	Package
	module   string
	exported map[string]bool
	imports  map[string]bool
	methods  map[string]map[string]bool // by receiver
}

func newDraft(folder, module string) *draft {
	return &draft{Package: Package{Folder: folder}, module: module,
		exported: map[string]bool{}, imports: map[string]bool{}, methods: map[string]map[string]bool{}}
}

func (d *draft) add(name string) error {
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	d.Lines += bytes.Count(source, []byte("\n"))
	for _, group := range file.Comments {
		for _, c := range group.List {
			d.Comments += commentLines(files, source, c)
		}
	}
	for _, spec := range file.Imports {
		if err := d.addImport(spec.Path.Value); err != nil {
			return err
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.addFunc(files, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				d.addSpec(spec)
			}
		}
	}
	return nil
}

// commentLines returns the number of a comment's lines without code. A comment after code shares its first line.
func commentLines(files *token.FileSet, source []byte, c *ast.Comment) int {
	from, to := files.Position(c.Pos()), files.Position(c.End())
	lines := to.Line - from.Line + 1
	before := source[from.Offset-(from.Column-1) : from.Offset]
	if len(bytes.TrimSpace(before)) > 0 {
		lines--
	}
	return lines
}

func (d *draft) addImport(quoted string) error {
	to, err := strconv.Unquote(quoted)
	if err != nil {
		return err
	}
	if to == d.module {
		d.imports["."] = true
	} else if folder, ours := strings.CutPrefix(to, d.module+"/"); ours {
		d.imports[folder] = true
	}
	return nil
}

func (d *draft) addFunc(files *token.FileSet, decl *ast.FuncDecl) {
	name := decl.Name.Name
	if decl.Recv == nil {
		d.export(decl.Name)
	} else {
		receiver := receiverName(decl.Recv.List[0].Type)
		if d.methods[receiver] == nil {
			d.methods[receiver] = map[string]bool{}
		}
		d.methods[receiver][name] = true
		name = receiver + "." + name
	}
	lines := files.Position(decl.End()).Line - files.Position(decl.Pos()).Line + 1
	if lines > d.Function.N {
		d.Function = Count{name, lines}
	}
}

// receiverName returns the type of a receiver without star and type parameters.
func receiverName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

func (d *draft) addSpec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		d.export(spec.Name)
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			d.export(name)
		}
	}
}

func (d *draft) export(name *ast.Ident) {
	if name.IsExported() {
		d.exported[name.Name] = true
	}
}

func (d *draft) finish() Package {
	p := d.Package
	p.Exported = len(d.exported)
	p.Imports = slices.Sorted(maps.Keys(d.imports))
	for name, methods := range d.methods {
		p.Types = append(p.Types, Count{name, len(methods)})
	}
	slices.SortFunc(p.Types, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// Total adds up packages. Its type and function are the largest of all, with the folder before their names.
func Total(list []Package) Package {
	total := Package{Folder: "total"}
	var largest Count
	larger := func(have *Count, folder string, c Count) {
		if c.N > have.N {
			*have = Count{folder + "." + c.Name, c.N}
		}
	}
	for _, p := range list {
		total.Lines += p.Lines
		total.Comments += p.Comments
		total.Exported += p.Exported
		larger(&largest, p.Folder, p.Largest())
		larger(&total.Function, p.Folder, p.Function)
	}
	total.Types = []Count{largest}
	return total
}
