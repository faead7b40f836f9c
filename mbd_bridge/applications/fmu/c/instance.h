/*
 * One instance of a machine in a co-simulation: what FMI 2 and FMI 3 have in common.
 *
 * All that changes is in `struct contents`, so that saving and restoring it is a copy. Memory is
 * taken when an instance or a saved state is made, never during a step.
 */
#ifndef MACHINE_INSTANCE_H
#define MACHINE_INSTANCE_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* The numbers of these are those of fmi2Status and fmi3Status. */
enum status { STATUS_OK, STATUS_WARNING, STATUS_DISCARD, STATUS_ERROR };

enum phase { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED };

struct contents {
    double value[MODEL_VALUES]; /* of each variable, by value reference; the first is time, s */
    double hidden[MODEL_HIDDEN + 1]; /* states that are no variables */
    double stop;                /* s, after which there is no step; INFINITY if none is given */
    double largest[MODEL_WATCHED + 1]; /* of the watched states, so far */
    unsigned char astray[MODEL_WATCHED + 1]; /* whether they were off at the last look */
    int steps;                  /* since the last look */
    int changed;                /* whether an input or a parameter has changed since the last step */
    int phase;
    int outputs_known;          /* whether outputs are those of these states and inputs */
};

struct instance;

typedef void log_function(struct instance *self, int status, const char *category,
                          const char *message);

struct instance {
    struct contents now, before, probe;
    int stray; /* the watched state for which steps are too long, -1 for none */
    double next[MODEL_STATES + MODEL_HIDDEN + 1];
    double scratch[MODEL_SCRATCH + 1];
    double last_time; /* s, up to which the last call of a step came */
    int logging;
    log_function *log;
    void *environment;
    void (*importer_log)(void); /* the importer's function, whose type `log` knows */
    char name[MODEL_NAME_SIZE];
};

int instance_matches(const char *token);
struct instance *instance_new(const char *name, log_function *log, void *environment,
                              void (*importer_log)(void), int logging);
void instance_free(struct instance *self);
int instance_fail(struct instance *self, int status, const char *format, ...);

int instance_setup(struct instance *self, double start, int has_stop, double stop);
int instance_enter_initialization(struct instance *self);
int instance_exit_initialization(struct instance *self);
int instance_terminate(struct instance *self);
int instance_reset(struct instance *self);

int instance_get(struct instance *self, const uint32_t *references, size_t number, double *values);
int instance_set(struct instance *self, const uint32_t *references, size_t number,
                 const double *values);
int instance_step(struct instance *self, double from, double length);

int instance_save(struct instance *self, void **saved);
int instance_restore(struct instance *self, const void *saved);
int instance_serialize(struct instance *self, const void *saved, char *bytes, size_t size);
int instance_deserialize(struct instance *self, const char *bytes, size_t size, void **saved);
void instance_free_saved(void **saved);
size_t instance_serialized_size(void);

#endif
