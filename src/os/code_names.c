/*
 * code_names.c -- see code_names.h
 *
 * perf's formats are those of the Linux sources, tools/perf/Documentation
 * (jit-interface.txt, jitdump-specification.txt); gdb's interface is described in its
 * manual, "JIT Compilation Interface". gdb wants an object file for each piece of code:
 * ours is an ELF header, one section that stands for the code where it lies, and one
 * symbol.
 */
#include "os/code_names.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/threads.h"

enum { NAME_SIZE = 48 };

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    bool map, dump, gdb;
    FILE *map_file, *dump_file;
    int pid; /* whose files these are */
    uint64_t dumped; /* kernels so far */
} debug = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void read_environment(void)
{
    const char *perf = getenv("DRJIT_PERF"), *gdb = getenv("DRJIT_GDB");
    debug.map = perf && strcmp(perf, "map") == 0;
    debug.dump = perf && strcmp(perf, "dump") == 0;
    debug.gdb = gdb && *gdb && strcmp(gdb, "0") != 0;
}

static FILE *open_file(const char *name, const char *mode)
{
    int file = open(name, O_CREAT | O_TRUNC | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *stream = file < 0 ? NULL : fdopen(file, mode);
    if (!stream) {
        log_write(LogLevelWarn, "native: cannot write %s: %s", name, strerror(errno));
        if (file >= 0)
            close(file);
    }
    return stream;
}

/* ---- perf: names of addresses */

static void write_map(const void *code, size_t size, const char *name)
{
    if (!debug.map_file) {
        char path[64];
        snprintf(path, sizeof path, "/tmp/perf-%d.map", debug.pid);
        debug.map_file = open_file(path, "w");
        debug.map = debug.map_file != NULL;
    }
    if (!debug.map_file)
        return;
    fprintf(debug.map_file, "%llx %zx %s\n", (unsigned long long) (uintptr_t) code,
            size, name);
    fflush(debug.map_file);
}

/* ---- perf: names and code */

typedef struct DumpHeader {
    uint32_t magic, version, size, machine, unused, pid;
    uint64_t time, flags;
} DumpHeader;

typedef struct DumpLoad { /* record 0: new code; name and code follow */
    uint32_t record, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t address, code_address, code_size, number;
} DumpLoad;

static uint32_t elf_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#else
    return EM_AARCH64;
#endif
}

static void open_dump(void)
{
    char path[64];
    snprintf(path, sizeof path, "jit-%d.dump", debug.pid);
    debug.dump_file = open_file(path, "w");
    debug.dump = debug.dump_file != NULL;
    if (!debug.dump_file)
        return;
    /* perf finds the file because the process maps it as if it were code. */
    mmap(NULL, (size_t) sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
         fileno(debug.dump_file), 0);
    DumpHeader header = { .magic = 0x4a695444, /* "JiTD" */
                          .version = 1,
                          .size = sizeof header,
                          .machine = elf_machine(),
                          .pid = (uint32_t) debug.pid,
                          .time = clock_ns() };
    fwrite(&header, sizeof header, 1, debug.dump_file);
}

static void write_dump(const void *code, size_t size, const char *name)
{
    if (!debug.dump_file)
        open_dump();
    if (!debug.dump_file)
        return;
    size_t name_size = strlen(name) + 1;
    DumpLoad load = { .size = (uint32_t) (sizeof load + name_size + size),
                      .time = clock_ns(),
                      .pid = (uint32_t) debug.pid,
                      .tid = (uint32_t) threads_id(),
                      .address = (uintptr_t) code,
                      .code_address = (uintptr_t) code,
                      .code_size = size,
                      .number = debug.dumped++ };
    fwrite(&load, sizeof load, 1, debug.dump_file);
    fwrite(name, name_size, 1, debug.dump_file);
    fwrite(code, size, 1, debug.dump_file);
    fflush(debug.dump_file);
}

/* ---- gdb: names and types are given by its manual */

typedef struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
} jit_code_entry;

struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag; /* 0 nothing, 1 new entry, 2 entry goes */
    jit_code_entry *relevant_entry, *first_entry;
};

__attribute__((visibility("default"))) struct jit_descriptor __jit_debug_descriptor = {
    .version = 1
};

/* gdb has a breakpoint here. */
__attribute__((visibility("default"), noinline)) void __jit_debug_register_code(void);
void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

enum { SECTION_TEXT = 1, SECTION_SYMBOLS, SECTION_STRINGS, SECTIONS };

typedef struct GdbObject {
    jit_code_entry entry; /* first: what code_names_add() gives */
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[SECTIONS];
        Elf64_Sym symbols[2];
        char strings[NAME_SIZE + 32];
    } file;
} GdbObject;

#define FILE_OFFSET(member) \
    (offsetof(GdbObject, file.member) - offsetof(GdbObject, file))

static void fill_object(GdbObject *object, const void *code, size_t size,
                        const char *name)
{
    /* Names of sections and of the symbol, in one table. */
    static const char names[] = "\0.text\0.symtab\0.strtab";
    memcpy(object->file.strings, names, sizeof names);
    snprintf(object->file.strings + sizeof names, NAME_SIZE, "%s", name);
    object->file.header = (Elf64_Ehdr){
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                     EV_CURRENT, ELFOSABI_SYSV },
        .e_type = ET_REL,
        .e_machine = (Elf64_Half) elf_machine(),
        .e_version = EV_CURRENT,
        .e_shoff = FILE_OFFSET(sections),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTIONS,
        .e_shstrndx = SECTION_STRINGS
    };
    object->file.sections[SECTION_TEXT] =
        (Elf64_Shdr){ .sh_name = 1,
                      .sh_type = SHT_NOBITS,
                      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                      .sh_addr = (uintptr_t) code,
                      .sh_size = size,
                      .sh_addralign = 1 };
    object->file.sections[SECTION_SYMBOLS] =
        (Elf64_Shdr){ .sh_name = 7,
                      .sh_type = SHT_SYMTAB,
                      .sh_offset = FILE_OFFSET(symbols),
                      .sh_size = sizeof object->file.symbols,
                      .sh_link = SECTION_STRINGS,
                      .sh_info = 1,
                      .sh_addralign = 8,
                      .sh_entsize = sizeof(Elf64_Sym) };
    object->file.sections[SECTION_STRINGS] =
        (Elf64_Shdr){ .sh_name = 15,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = FILE_OFFSET(strings),
                      .sh_size = sizeof object->file.strings,
                      .sh_addralign = 1 };
    object->file.symbols[1] =
        (Elf64_Sym){ .st_name = sizeof names,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                     .st_shndx = SECTION_TEXT,
                     .st_size = size };
}

static void *register_code(const void *code, size_t size, const char *name)
{
    GdbObject *object = alloc_zero(1, sizeof *object);
    if (!object)
        return NULL;
    fill_object(object, code, size, name);
    jit_code_entry *entry = &object->entry;
    entry->symfile_addr = (const char *) &object->file;
    entry->symfile_size = sizeof object->file;
    entry->next_entry = __jit_debug_descriptor.first_entry;
    if (entry->next_entry)
        entry->next_entry->prev_entry = entry;
    __jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = 1;
    __jit_debug_register_code();
    return object;
}

static void unregister_code(jit_code_entry *entry)
{
    if (entry->prev_entry)
        entry->prev_entry->next_entry = entry->next_entry;
    else
        __jit_debug_descriptor.first_entry = entry->next_entry;
    if (entry->next_entry)
        entry->next_entry->prev_entry = entry->prev_entry;
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = 2;
    __jit_debug_register_code();
}

/* ---- fork */

static void fork_lock(void)
{
    pthread_mutex_lock(&debug.lock);
}

static void fork_unlock(void)
{
    pthread_mutex_unlock(&debug.lock);
}

/* At load time: see native_map.c. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void) pthread_atfork(fork_lock, fork_unlock, fork_unlock);
}

/* ---- interface */

/* A forked process has files of its own. */
static void check_process(void)
{
    if (debug.pid == (int) process_id())
        return;
    debug.pid = (int) process_id();
    debug.map_file = debug.dump_file = NULL;
}

void *code_names_add(const void *code, size_t size, Hash128 hash)
{
    pthread_once(&debug.once, read_environment);
    if (!debug.map && !debug.dump && !debug.gdb)
        return NULL;
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "drjit_%016llx%016llx", (unsigned long long) hash.high,
             (unsigned long long) hash.low);
    pthread_mutex_lock(&debug.lock);
    check_process();
    if (debug.map)
        write_map(code, size, name);
    if (debug.dump)
        write_dump(code, size, name);
    void *entry = debug.gdb ? register_code(code, size, name) : NULL;
    pthread_mutex_unlock(&debug.lock);
    return entry;
}

void code_names_remove(void *entry)
{
    if (!entry)
        return;
    pthread_mutex_lock(&debug.lock);
    unregister_code(entry);
    pthread_mutex_unlock(&debug.lock);
    alloc_free(entry);
}
