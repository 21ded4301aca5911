/* A clang without its front end, for a build of LLVM that records its coverage: the optimiser's pipeline of a level, then
   code generation, as clang has them, in one process.

     llvm LEVEL INPUT.bc OUTPUT.o [LLVM OPTION...]        LEVEL: O0, O1, O2, O3, Os or Oz

   The program comes as the bitcode that the stock clang makes of it before any pass. LLVM's C interface is used because it
   stays the same from release to release. What clang sets that this interface cannot: entry values of parameters in debug
   information (call site information), and options of code generation that clang has flags of its own for. */

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what, const char *why)
{
  fprintf(stderr, "error: %s: %s\n", what, why ? why : "no reason given");
  return 1;
}

static LLVMCodeGenOptLevel generation_level(const char *level)
{
  if (strcmp(level, "O0") == 0)
    return LLVMCodeGenLevelNone;
  if (strcmp(level, "O1") == 0)
    return LLVMCodeGenLevelLess;
  return strcmp(level, "O3") == 0 ? LLVMCodeGenLevelAggressive : LLVMCodeGenLevelDefault;
}

int main(int count, const char **words)
{
  if (count < 4 || strlen(words[1]) != 2)
    return fail("usage", "llvm LEVEL INPUT.bc OUTPUT.o [LLVM OPTION...]");
  const char *level = words[1];
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  const char *output = words[3], *input = words[2];
  words[3] = "llvm"; /* the options' "program name" */
  LLVMParseCommandLineOptions(count - 3, words + 3, 0);

  char *why = 0;
  LLVMMemoryBufferRef bytes = 0;
  LLVMModuleRef module = 0;
  if (LLVMCreateMemoryBufferWithContentsOfFile(input, &bytes, &why))
    return fail(input, why);
  if (LLVMParseBitcode2(bytes, &module))
    return fail(input, "no bitcode of this LLVM");
  const char *triple = LLVMGetTarget(module);
  LLVMTargetRef target = 0;
  if (LLVMGetTargetFromTriple(triple, &target, &why))
    return fail(triple, why);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, triple, "", "", generation_level(level), LLVMRelocPIC,
                                                         LLVMCodeModelDefault);
  if (!machine)
    return fail(triple, "no target machine");

  /* What clang switches on from -O2 on, and at -Os; the interface's own default for SLP is off. */
  int vectorise = strcmp(level, "O0") != 0 && strcmp(level, "O1") != 0;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopInterleaving(options, vectorise && level[1] != 's' && level[1] != 'z');
  LLVMPassBuilderOptionsSetLoopVectorization(options, vectorise && level[1] != 'z');
  LLVMPassBuilderOptionsSetSLPVectorization(options, vectorise && level[1] != 'z');
  LLVMPassBuilderOptionsSetLoopUnrolling(options, level[1] != '0');
  char pipeline[] = "default<O?>";
  pipeline[9] = level[1];
  LLVMErrorRef error = LLVMRunPasses(module, pipeline, machine, options);
  if (error)
    return fail(pipeline, LLVMGetErrorMessage(error));
  if (LLVMTargetMachineEmitToFile(machine, module, (char *)output, LLVMObjectFile, &why))
    return fail(output, why);
  return 0;
}
