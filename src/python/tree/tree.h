/*
 * tree.h -- PyTrees: taken apart into leaves, put together again
 *
 *     Ray(o=Array3f(..), t=[Float(..), None])
 *
 *         nodes    DATACLASS 2 | FLAT | LIST 2 | FLAT | FLAT     parents come first
 *         leaves   Array3f(..), Float(..), None
 *
 * plan.h says what is a container. Reading constructs no object; all walks keep their
 * own stack. A tree that contains itself, or is nested more than a thousand levels
 * deep, is a RecursionError. Inputs of frozen functions may contain themselves (the
 * operation "freeze"): a container within itself is a leaf there, and it is known how
 * many levels above it is. What is taken apart is a snapshot: code of the user's that
 * runs later, or while attributes are read, cannot change it.
 */
#ifndef PYTHON_TREE_TREE_H
#define PYTHON_TREE_TREE_H

#include "python/tree/plan.h"

/** A node, and what it takes to make it again. References are strong. */
typedef struct TreeNode {
    NodeKind kind;
    Py_ssize_t count; /* of children */
    PyObject *object; /* of a container: itself */
    PyObject *keys;   /* of a dictionary: a list */
    Plan *plan;       /* of a container with fields */
    size_t above;     /* the leaf is the container that many levels up; 0: it is not */
} TreeNode;

typedef struct Tree {
    PyObject **leaves; /* strong references, in order */
    size_t leaf_count, leaf_capacity;
    TreeNode *nodes;
    size_t node_count, node_capacity;
} Tree;

/** Take a tree apart. Free it with tree_free(), after failure too. False: exception. */
bool tree_flatten(State *state, const char *operation, PyObject *object, Tree *tree);

/** Does a container stand within itself, as a leaf? */
bool tree_has_cycles(const Tree *tree);

/** The leaves of another tree, in the order of 'like', without nodes. Where that has a
 *  container, this must have one of the same class with as many children, or with the
 *  same keys in any order; else a ValueError names the place. Where it has a leaf, this
 *  may have anything. */
bool tree_flatten_like(State *state, const char *operation, const Tree *like,
                       PyObject *object, Tree *tree);

/** A tree of the same structure with these leaves (borrowed), as many as there were.
 *  Data classes are called with their fields, and DRJIT_STRUCT classes without
 *  arguments, if they take them; instances of others are made without a call, and get
 *  further attributes from the original. NULL: exception. */
PyObject *tree_unflatten(const char *operation, const Tree *tree,
                         PyObject *const *leaves);

/** The same, but no constructor is called: what instances have besides their fields is
 *  that of the original. Where 'objects' has a container for a node, that stands there;
 *  there is an entry for each node. One that is made is put there if 'same' of a later
 *  node is its number + 1, where it stands, too. References in 'objects' are the
 *  caller's. NULL instead: there are none. NULL: exception. */
PyObject *tree_unflatten_as(const char *operation, const Tree *tree,
                            PyObject *const *leaves, PyObject **objects,
                            const uint32_t *same);

/** Put these leaves (borrowed) into the containers that the tree was taken from, which
 *  keep their identity; tuples that change are made anew. What else these containers
 *  hold by now, beyond the places of the tree, goes. Where 'other' has a container of
 *  its own in the place of the tree's (of the same structure; NULL: none has), there is
 *  a new one instead. Returns the root; NULL: exception. */
PyObject *tree_place(const char *operation, const Tree *tree, const Tree *other,
                     PyObject *const *leaves);

/** Let child i of an object, a container like 'node' and no tuple, be this one. False:
 *  exception. */
bool tree_put_child(const TreeNode *node, PyObject *object, Py_ssize_t i,
                    PyObject *child);

/** Put the containers back as they were when the tree was taken. Needs no memory unless
 *  entries have been removed. False: exception, after all that could be done. */
bool tree_restore(const Tree *tree);

/** A place in a tree: a node, and how many leaves come before it. */
typedef struct TreePlace {
    size_t node, leaf;
} TreePlace;

/** Go past a node, and all below it. */
void tree_skip(const Tree *tree, TreePlace *at);

void tree_free(Tree *tree);

/** Where is this leaf, or this node? ".rays[2].o", "[key]", "" for the whole tree: a
 *  str. NULL: exception. */
PyObject *tree_leaf_path(const Tree *tree, size_t leaf);
PyObject *tree_node_path(const Tree *tree, size_t node);

/** For tp_traverse: visit all that the tree refers to. */
int tree_references(const Tree *tree, visitproc visit, void *arg);

/** Called for each leaf of n trees of the same structure: 'leaves' holds the object of
 *  each tree there. Returns what stands in the result (new reference); NULL:
 *  exception. */
typedef PyObject *(*TreeMap)(void *context, PyObject *const *leaves);

/** A new tree of the structure of trees[0], of at most four. Whatever the operation, a
 *  tree that contains itself is a RecursionError. */
PyObject *tree_map(State *state, const char *operation, PyObject *const *trees, int n,
                   TreeMap map, void *context);
/** The same of one tree, but no constructor is called: see tree_unflatten_as(). */
PyObject *tree_map_alike(State *state, const char *operation, PyObject *tree,
                         TreeMap map, void *context);

/** Called for each leaf of one tree, in order. False: exception. */
typedef bool (*TreeVisit)(void *context, PyObject *leaf);

/** Variables that an object gives to the callback of its _traverse_1_cb_ro() are
 *  visited as arrays. */
bool tree_visit(State *state, const char *operation, PyObject *object, TreeVisit visit,
                void *context);

#endif
