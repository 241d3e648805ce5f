// Prints the methods and the calls of an assembly with its debug information, as mcs writes it; see csharp_truth.py.
//
// A line each, fields separated by tabs:
//   method  number, name of its type, its name, file, first line of its body, or an empty file without one
//   call    file, line, name of the called type, name of the method, number of the method or 0 outside of the assembly

using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.Cecil.Mdb;

static class CsharpTruth
{
    const int Hidden = 0xfeefee;

    static IEnumerable<Instruction> Points(MethodDefinition method)
    {
        var instructions = method.HasBody ? method.Body.Instructions : Enumerable.Empty<Instruction>();
        return instructions.Where(each => each.SequencePoint != null && each.SequencePoint.StartLine != Hidden);
    }

    static SequencePoint FirstPoint(MethodDefinition method)
    {
        return Points(method).Select(each => each.SequencePoint).OrderBy(point => point.StartLine).FirstOrDefault();
    }

    // An iterator and an async method are compiled to a nested class, whose MoveNext has their statements.
    static SequencePoint FirstPointOf(MethodDefinition method)
    {
        var prefix = "<" + method.Name + ">c__";
        if (method.HasBody)
        {
            foreach (var instruction in method.Body.Instructions)
            {
                var member = instruction.Operand as MemberReference;
                var type = member == null ? null : (member.DeclaringType ?? member as TypeReference);
                if (type == null || !type.Name.StartsWith(prefix))
                    continue;
                var moveNext = type.Resolve().Methods.FirstOrDefault(each => each.Name == "MoveNext");
                if (moveNext != null && FirstPoint(moveNext) != null)
                    return FirstPoint(moveNext);
            }
        }
        return FirstPoint(method);
    }

    static string PlainName(TypeReference type)
    {
        return type.GetElementType().FullName.Split('`')[0].Replace('/', '.');
    }

    static IEnumerable<TypeDefinition> AllTypes(IEnumerable<TypeDefinition> types)
    {
        return types.SelectMany(type => new[] { type }.Concat(AllTypes(type.NestedTypes)));
    }

    static void PrintCalls(MethodDefinition method)
    {
        SequencePoint point = null;
        foreach (var instruction in method.Body.Instructions)
        {
            var called = instruction.Operand as MethodReference;
            var isNew = instruction.OpCode.Code == Code.Newobj;
            var isCall = instruction.OpCode.Code == Code.Call || instruction.OpCode.Code == Code.Callvirt;
            if (instruction.SequencePoint != null)
                point = instruction.SequencePoint;
            if (called == null || point == null || point.StartLine == Hidden || !(isNew || isCall) || (isCall && called.Name == ".ctor"))
                continue;
            var target = called.Resolve();
            var number = target != null && target.Module == method.Module ? target.MetadataToken.RID : 0;
            Console.WriteLine(string.Join("\t", "call", point.Document.Url, point.StartLine, PlainName(called.DeclaringType), called.Name, number));
        }
    }

    static void Main(string[] arguments)
    {
        var parameters = new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new MdbReaderProvider() };
        var module = ModuleDefinition.ReadModule(arguments[0], parameters);
        foreach (var type in AllTypes(module.Types))
        {
            foreach (var method in type.Methods)
            {
                var point = FirstPointOf(method);
                var place = point == null ? "\t0" : point.Document.Url + "\t" + point.StartLine;
                Console.WriteLine(string.Join("\t", "method", method.MetadataToken.RID, PlainName(type), method.Name, place));
                if (method.HasBody)
                    PrintCalls(method);
            }
        }
    }
}
