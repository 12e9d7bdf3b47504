#!/bin/sh
# demo.sh -- run every example program and write its pictures to demo-output/, then say
# how to go on
#
#     tools/demo.sh [BUILD-FOLDER] [OUTPUT-FOLDER]
#
# Called by "make demo" after the build, with the build folder in $BUILD. A program that
# fails does not stop the others; the summary at the end says which, and the exit status
# is their number.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=${1:-${BUILD:-$root/build}}
output=${2:-$root/demo-output}
programs=$build/examples
examples=$root/examples
failed=0
summary=

if [ ! -x "$programs/readme_c" ]; then
    echo "demo: no programs in '$programs': build first (make)" >&2
    exit 1
fi
mkdir -p "$output" || exit 1

# step TITLE PROGRAM [ARGUMENTS]: run a program, or function, and note how it went.
step() {
    title=$1
    shift
    if ! command -v "$1" >/dev/null; then
        summary="$summary
  left out  $title (not built: libpng is missing)"
        return
    fi
    printf '\n=== %s\n\n' "$title"
    if "$@"; then
        summary="$summary
  ok        $title"
    else
        failed=$((failed + 1))
        summary="$summary
  FAILED    $title"
    fi
}

# engines: the same picture from each engine, their times, and whether it is the same.
# Without the disk cache, which would hide what compiling costs.
engines() {
    same=0
    first=
    printf 'times in ms         trace      compile  first frame     best frame\n'
    for engine in interp native llvm; do
        picture=$output/sponge-$engine.png
        rm -f "$picture"
        DRJIT_CPU_ENGINE=$engine DRJIT_CACHE_DIR= "$programs/march" "$picture"
        case $? in
            0) ;;
            3) echo "  $engine: left out, this engine cannot be used here"; continue ;;
            *) same=1; continue ;;
        esac
        if [ -z "$first" ]; then
            first=$picture
        elif ! cmp "$first" "$picture"; then
            same=1
        fi
    done
    [ "$same" = 0 ] && echo "All pictures have the same bytes."
    return "$same"
}

step "the C example of the README" "$programs/readme_c"
step "the C++ example of the README" "$programs/readme_cpp"
# The log belongs to the README's story only.
DRJIT_LOG_LEVEL=${DRJIT_LOG_LEVEL:-warn}
export DRJIT_LOG_LEVEL
step "a curve fitted to measurements, by derivatives in C" "$programs/fit"
step "a picture: evening" "$programs/render" "$examples/scenes/evening.txt" \
    "$output/evening.png" --size 1024 --height 1024 --samples 16
step "a picture: spiral" "$programs/render" "$examples/scenes/spiral.txt" \
    "$output/spiral.png" --size 900 --height 640 --samples 16
step "a picture: stones" "$programs/render" "$examples/scenes/stones.txt" \
    "$output/stones.png" --size 900 --height 600 --samples 32
step "blur" "$programs/filter" "$output/evening.png" "$output/evening-blur.png" blur
step "sharpen" "$programs/filter" "$output/evening.png" "$output/evening-sharp.png" \
    sharpen --radius 2 --amount 2
step "edges" "$programs/filter" "$output/evening.png" "$output/evening-edges.png" edges
if [ -x "$programs/march" ]; then
    step "the same picture from each engine: rays march through a sponge" engines
fi

# From here on the interpreter of .venv finds the package that was just built.
python=$root/.venv/bin/python
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') &&
    (cd "$build/py" && pwd) >"$site/drjit-build.pth" || exit 1
unset PYTHONPATH
step "import drjit" "$python" -c \
    'import drjit; print("drjit", drjit.__version__, "in", drjit.__path__[0])'
step "a Python program beside NumPy: points, a picture, tensors" \
    "$python" "$examples/python/points_and_picture.py" \
    "$output/points-and-picture.png"
step "the Mandelbrot set: a loop for each pixel" \
    "$python" "$examples/python/mandelbrot.py" "$output/mandelbrot.png"
step "2,048 stars that attract each other" \
    "$python" "$examples/python/nbody.py" "$output/nbody.png"
step "a path tracer in one kernel: loops, conditionals, objects as materials" \
    "$python" "$examples/python/path_tracer.py" "$output/path-tracer.png"
step "from photographs back to a sculpture: a renderer, differentiated" \
    "$python" "$examples/python/inverse_rendering.py" "$output/inverse-rendering.png"
step "a poster from photographs of it: a texture, fitted" \
    "$python" "$examples/python/poster.py" "$output/poster.png"
step "a lens designed by derivatives in forward mode" \
    "$python" "$examples/python/lens_design.py" "$output/lens-design.png"
step "a photographic lens designed by gradient descent" \
    "$python" "$examples/python/lens.py" "$output/lens.png"
step "how well a plate conducts heat, found from temperatures" \
    "$python" "$examples/python/heat.py" "$output/heat.png"
step "what is inside: a volume from its shadows" \
    "$python" "$examples/python/volume.py" "$output/volume.png"
step "a sharp picture from four small, blurred ones" \
    "$python" "$examples/python/photograph.py" "$output/photograph.png"
step "a scene learnt from pictures of it: a hash grid and a network" \
    "$python" "$examples/python/field.py" "$output/field.png"
step "a picture whose samples are spread over processes" \
    "$python" "$examples/dist/render.py" "$output/render.png"
step "statistics of a table" "$programs/stats" "$examples/data/weather.csv" \
    --column temperature

printf '\n=== Summary\n%s\n\nPictures in %s:\n' "$summary" "$output"
for picture in "$output"/*.png; do
    [ -e "$picture" ] && echo "  ${picture##*/}"
done
cat <<END

How to go on:
  .venv/bin/python    an interpreter in which "import drjit as dr" works:
                      dr.llvm.Float(1, 2) + 1, help(dr.gather)
  examples/           the programs above, in C, C++ and Python; built in
                      ${programs#"$root"/}/
  docs/tour.md        the tour in Python; docs/c.md for C, docs/migration.md if you know
                      the published package; docs/README.md lists the rest
END
exit "$failed"
