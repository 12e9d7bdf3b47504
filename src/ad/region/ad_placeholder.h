/*
 * ad_placeholder.h -- what bodies are given: inputs of calls, states of loops
 *
 * The placeholder of an input has an entry, which stands for the input, suspended if
 * that is.
 *
 * A state that is suspended by name around the loop is what the loop was given in the
 * first iteration only; later ones may begin with something that is tracked. So its
 * entry is tracked and stands for nothing. If the body resumes it (ad_scope.h), what is
 * made of it there depends on what the loop was given after all:
 *
 *     the body leaves the state alone    the entry stands for that from now on, and
 *                                        edges from elsewhere go
 *     it changes the state               both would have to be told apart, by
 *                                        iteration: an error
 *
 * AdEdge.resumed says which edges these are.
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_PLACEHOLDER_H
#define AD_REGION_AD_PLACEHOLDER_H

#include "ad/region/ad_template.h"

/** Entry number 'which' stands for this variable if it is tracked. */
void ad_placeholder_set_outer(AdTemplate *t, uint32_t which, uint64_t outer);
/** A new entry that stands for nothing yet, for a placeholder that is like this
 *  variable. Its node, 0: out of memory. */
NodeId ad_placeholder_entry(AdTemplate *t, VarId like);
/** ... for the placeholder of 'outer', whose reference moves: the placeholder with that
 *  node. The entry stands for 'outer' if that is tracked. */
uint64_t ad_placeholder_input(AdTemplate *t, uint64_t outer, VarId placeholder);
/** The next state of a loop, which begins with 'initial'. If it is 'differentiated' it
 *  has an entry of its own, also where 'initial' is not tracked. The placeholder,
 *  whose reference moves, is tracked then. 0: out of memory. */
uint64_t ad_placeholder_state(AdTemplate *t, uint64_t initial, VarId placeholder,
                              bool differentiated);
/** A tracked leaf gets a node of its own, as a placeholder has, which depends on the
 *  one that it had. False: out of memory. */
bool ad_placeholder_own_node(uint64_t *leaf);

/** A scope begins that resumes these, or all (n is 0): is a suspended state among
 *  them? */
bool ad_placeholder_resume(size_t n, const uint64_t *indices);
/** Such a scope is left: edges to nodes with this or a greater serial number that come
 *  from suspended states were made in it. */
void ad_placeholder_resumed(uint64_t serial);
/** Entry number 'which' of a region that is complete, an input of its operation now: if
 *  it stands for a suspended state of a loop around, is it used as that is? False:
 *  error recorded. */
bool ad_placeholder_pass(const AdTemplate *t, uint32_t which, NodeId operation);
/** The loop is complete, which began state 'k' so, and has left it alone or not. False:
 *  error recorded. */
bool ad_placeholder_settle(AdTemplate *t, uint32_t k, bool alone, uint64_t initial);
/** Gradients of a traversal in the body wait at this state. False: error recorded,
 *  since it is not known which belong to what the loop was given. */
bool ad_placeholder_may_wait(const AdTemplate *t, const AdEntry *entry);

#endif
