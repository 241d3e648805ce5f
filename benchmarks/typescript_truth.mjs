// Prints what each call, instantiation and base of a folder of TypeScript means, as the compiler sees it.
// node typescript_truth.mjs FOLDER: one JSON array a line: [file, line, name, file of the definition or null, its line].
// Needs the package `typescript` where node finds it.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const ts = createRequire(path.resolve("package.json"))("typescript");
const root = fs.realpathSync(process.argv[2]);

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sources(full);
    return /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts") ? [full] : [];
  });
}

const program = ts.createProgram(sources(root), {
  allowJs: false,
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
});
const checker = program.getTypeChecker();

function nameOf(expression) {
  if (ts.isIdentifier(expression)) return expression;
  if (ts.isPropertyAccessExpression(expression)) return expression.name;
  return undefined;
}

function lineOf(node, file) {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}

// A parameter, or a variable of a function that holds no function itself: an index of definitions has none of these.
function isLocal(declaration) {
  if (ts.isParameter(declaration)) return !ts.isParameterPropertyDeclaration(declaration, declaration.parent);
  if (!ts.isVariableDeclaration(declaration) && !ts.isBindingElement(declaration)) return false;
  const value = declaration.initializer;
  if (value && ts.isVariableDeclaration(declaration) && (ts.isFunctionLike(value) || ts.isClassExpression(value))) return false;
  return Boolean(ts.findAncestor(declaration, (each) => ts.isFunctionLike(each)));
}

// What a name means: behind imports, and behind a local variable that holds what another name means.
function meaning(name) {
  const symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) return checker.getAliasedSymbol(symbol);
  const declaration = symbol?.valueDeclaration;
  const value = declaration && ts.isVariableDeclaration(declaration) && isLocal(declaration) ? declaration.initializer : undefined;
  const held = value && nameOf(value);
  return held ? meaning(held) : symbol;
}

function report(name, file, isType) {
  const symbol = meaning(name);
  const declarations = symbol?.declarations ?? [];
  const types = declarations.filter((each) => ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each));
  const value = declarations.find((each) => each.body) ?? symbol?.valueDeclaration;
  const declaration = (isType ? types[0] : value) ?? value ?? declarations[0];
  if (!declaration) return;
  const home = declaration.getSourceFile();
  const inside = home.fileName.startsWith(root + path.sep) && !home.isDeclarationFile && !isLocal(declaration);
  const target = inside ? path.relative(root, home.fileName) : null;
  const line = lineOf(declaration.name ?? declaration, home);
  console.log(JSON.stringify([path.relative(root, file.fileName), lineOf(name, file), name.text, target, line]));
}

function visit(node, file) {
  if (ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isExpressionWithTypeArguments(node)) {
    const name = nameOf(node.expression);
    const clause = ts.isExpressionWithTypeArguments(node) ? node.parent : undefined;
    const isType = clause && (ts.isInterfaceDeclaration(clause.parent) || clause.token === ts.SyntaxKind.ImplementsKeyword);
    if (name && ts.isIdentifier(name)) report(name, file, isType);
  }
  ts.forEachChild(node, (child) => visit(child, file));
}

for (const file of program.getSourceFiles()) {
  if (file.fileName.startsWith(root + path.sep) && !file.isDeclarationFile) visit(file, file);
}
