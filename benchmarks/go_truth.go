// Prints what each call and embedded type of a folder of Go means, as go/types sees it.
// go run go_truth.go FOLDER: one JSON array a line: [file, line, name, file of the definition or null, its line].
// The folder is a module. Nothing is said of what belongs to the modules that it needs, which are not read.
package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

type visitor struct {
	root  string
	files *token.FileSet
	info  *types.Info
	out   *json.Encoder
}

func main() {
	root, err := filepath.EvalSymlinks(os.Args[1])
	check(err)
	root, err = filepath.Abs(root)
	check(err)
	files := token.NewFileSet()
	imports := &module{root, moduleName(root), files, map[string]*types.Package{}, importer.ForCompiler(files, "source", nil)}
	folders := map[string]bool{}
	check(filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			folders[filepath.Dir(path)] = true
		}
		return err
	}))
	for folder := range folders {
		isSource := func(entry os.FileInfo) bool { return isBuilt(folder, entry) }
		packages, _ := parser.ParseDir(files, folder, isSource, parser.SkipObjectResolution)
		for _, each := range packages {
			read(root, files, imports, each)
		}
	}
}

// module imports the packages of one module from its folder, and those of the language from their sources.
type module struct {
	root, name string
	files      *token.FileSet
	packages   map[string]*types.Package
	language   types.Importer
}

func moduleName(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	check(err)
	return strings.Fields(string(text))[1]
}

func (m *module) Import(path string) (*types.Package, error) {
	if path != m.name && !strings.HasPrefix(path, m.name+"/") {
		if strings.Contains(strings.Split(path, "/")[0], ".") {
			return nil, errors.New("not read")
		}
		return m.language.Import(path)
	}
	if known, ok := m.packages[path]; ok {
		return known, nil
	}
	folder := filepath.Join(m.root, strings.TrimPrefix(path, m.name))
	isSource := func(entry os.FileInfo) bool {
		return !strings.HasSuffix(entry.Name(), "_test.go") && isBuilt(folder, entry)
	}
	packages, err := parser.ParseDir(m.files, folder, isSource, parser.SkipObjectResolution)
	for _, each := range packages {
		if each.Name != "main" || len(packages) == 1 {
			m.packages[path] = examine(m, path, m.files, each, nil)
		}
	}
	return m.packages[path], err
}

// Whether a file is of this system and build.
func isBuilt(folder string, entry os.FileInfo) bool {
	isPart, err := build.Default.MatchFile(folder, entry.Name())
	return isPart && err == nil
}

func examine(imports types.Importer, path string, files *token.FileSet, each *ast.Package, info *types.Info) *types.Package {
	var parsed []*ast.File
	for _, file := range each.Files {
		parsed = append(parsed, file)
	}
	config := types.Config{Importer: imports, Error: func(error) {}, FakeImportC: true}
	examined, _ := config.Check(path, files, parsed, info)
	return examined
}

func read(root string, files *token.FileSet, imports types.Importer, each *ast.Package) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	examine(imports, each.Name, files, each, info)
	see := &visitor{root, files, info, json.NewEncoder(os.Stdout)}
	for _, file := range each.Files {
		ast.Inspect(file, see.node)
	}
}

func (v *visitor) node(node ast.Node) bool {
	switch each := node.(type) {
	case *ast.CallExpr:
		v.report(each.Fun)
	case *ast.CompositeLit:
		v.report(each.Type)
	case *ast.StructType:
		for _, field := range each.Fields.List {
			if len(field.Names) == 0 {
				v.report(field.Type)
			}
		}
	}
	return true
}

func (v *visitor) report(expression ast.Expr) {
	switch each := expression.(type) {
	case *ast.SelectorExpr:
		v.name(each.Sel)
	case *ast.Ident:
		v.name(each)
	case *ast.StarExpr:
		v.report(each.X)
	case *ast.ParenExpr:
		v.report(each.X)
	case *ast.IndexExpr:
		v.report(each.X)
	}
}

func (v *visitor) name(name *ast.Ident) {
	object := v.info.Uses[name]
	if object == nil {
		return
	}
	at, place := v.files.Position(name.Pos()), v.files.Position(object.Pos())
	var target, line any
	if strings.HasPrefix(place.Filename, v.root+string(filepath.Separator)) && !isLocal(object) {
		target, line = relative(v.root, place.Filename), place.Line
	}
	check(v.out.Encode([]any{relative(v.root, at.Filename), at.Line, name.Name, target, line}))
}

// A parameter or a variable of a function: an index of definitions has none of these.
func isLocal(object types.Object) bool {
	variable, isVariable := object.(*types.Var)
	return isVariable && !variable.IsField() && object.Parent() != object.Pkg().Scope()
}

func relative(root, path string) string {
	name, err := filepath.Rel(root, path)
	check(err)
	return name
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
