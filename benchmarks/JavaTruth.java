import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.ParameterizedTypeTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.lang.model.type.TypeKind;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Prints what each call, instantiation and base of a folder of Java means, as javac sees it.
 *
 * <p>java JavaTruth.java FOLDER: one JSON array a line: [file, line, name, file of the definition or null, its line].
 * Nothing is said of what belongs to libraries that the folder needs, which are not read.
 */
public final class JavaTruth extends TreePathScanner<Void, Void> {
  private final Path root;
  private final Trees trees;

  private JavaTruth(Path root, Trees trees) {
    this.root = root;
    this.trees = trees;
  }

  public static void main(String[] arguments) throws IOException {
    Path root = Path.of(arguments[0]).toRealPath();
    List<Path> files;
    try (Stream<Path> paths = Files.walk(root)) {
      files = new ArrayList<>(paths.filter(path -> path.toString().endsWith(".java")).toList());
    }
    files.removeIf(path -> path.endsWith("module-info.java") || path.endsWith("package-info.java"));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    var manager = compiler.getStandardFileManager(problem -> {}, null, null);
    List<String> options = List.of("-proc:none", "-XDshould-stop.ifError=FLOW");
    var units = manager.getJavaFileObjectsFromPaths(files);
    JavacTask task = (JavacTask) compiler.getTask(null, manager, problem -> {}, options, null, units);
    Iterable<? extends CompilationUnitTree> parsed = task.parse();
    task.analyze();
    JavaTruth truth = new JavaTruth(root, Trees.instance(task));
    for (CompilationUnitTree unit : parsed) {
      truth.scan(unit, null);
    }
  }

  @Override
  public Void visitMethodInvocation(MethodInvocationTree call, Void nothing) {
    report(call.getMethodSelect());
    return super.visitMethodInvocation(call, nothing);
  }

  @Override
  public Void visitNewClass(NewClassTree call, Void nothing) {
    report(call.getIdentifier());
    return super.visitNewClass(call, nothing);
  }

  @Override
  public Void visitClass(ClassTree type, Void nothing) {
    if (type.getExtendsClause() != null) {
      report(type.getExtendsClause());
    }
    type.getImplementsClause().forEach(this::report);
    return super.visitClass(type, nothing);
  }

  private void report(Tree use) {
    if (use instanceof ParameterizedTypeTree generic) {
      report(generic.getType());
      return;
    }
    String name = "";
    if (use instanceof IdentifierTree plain) {
      name = plain.getName().toString();
    } else if (use instanceof MemberSelectTree member) {
      name = member.getIdentifier().toString();
    }
    Element element = trees.getElement(new TreePath(getCurrentPath(), use));
    if (name.isEmpty() || name.equals("this") || name.equals("super") || element == null) {
      return;
    }
    if (element.asType().getKind() == TypeKind.ERROR) {
      return;
    }
    CompilationUnitTree unit = getCurrentPath().getCompilationUnit();
    long end = trees.getSourcePositions().getEndPosition(unit, use);
    TreePath target = trees.getPath(element);
    String place = "null,null";
    if (target != null) {
      CompilationUnitTree home = target.getCompilationUnit();
      long start = trees.getSourcePositions().getStartPosition(home, target.getLeaf());
      place = "\"" + relative(home) + "\"," + line(home, start);
    }
    System.out.printf("[\"%s\",%d,\"%s\",%s]%n", relative(unit), line(unit, end - name.length()), name, place);
  }

  private static long line(CompilationUnitTree unit, long at) {
    return unit.getLineMap().getLineNumber(at);
  }

  private String relative(CompilationUnitTree unit) {
    return root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
  }
}
