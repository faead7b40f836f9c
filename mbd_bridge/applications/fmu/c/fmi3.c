/* FMI 3.0 for co-simulation, over instance.h. Functions that it does not support are in
   fmi3_unsupported.c. */

#include "fmi3Functions.h"
#include "instance.h"

static void log_message(struct instance *self, int status, const char *category,
                        const char *message)
{
    fmi3LogMessageCallback log = (fmi3LogMessageCallback)self->importer_log;
    if (log != NULL) {
        log(self->environment, (fmi3Status)status, category, message);
    }
}

const char *fmi3GetVersion(void)
{
    return fmi3Version;
}

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[])
{
    (void)nCategories;
    (void)categories;
    ((struct instance *)instance)->logging = loggingOn;
    return fmi3OK;
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3Boolean eventModeUsed,
    fmi3Boolean earlyReturnAllowed, const fmi3ValueReference requiredIntermediateVariables[],
    size_t nRequiredIntermediateVariables, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3IntermediateUpdateCallback intermediateUpdate)
{
    (void)resourcePath;
    (void)visible;
    (void)eventModeUsed;
    (void)earlyReturnAllowed;
    (void)requiredIntermediateVariables;
    (void)intermediateUpdate;
    if (nRequiredIntermediateVariables > 0 || !instance_matches(instantiationToken)) {
        if (logMessage != NULL) {
            logMessage(instanceEnvironment, fmi3Error, "logStatusError",
                       nRequiredIntermediateVariables > 0
                           ? "this FMU has no intermediate updates"
                           : "the instantiation token is not that of this FMU");
        }
        return NULL;
    }
    return instance_new(instanceName, log_message, instanceEnvironment, (void (*)(void))logMessage,
                        loggingOn);
}

void fmi3FreeInstance(fmi3Instance instance)
{
    instance_free(instance);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined,
                                       fmi3Float64 tolerance, fmi3Float64 startTime,
                                       fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    int status = instance_setup(instance, startTime, stopTimeDefined, stopTime);
    (void)toleranceDefined;
    (void)tolerance;
    return (fmi3Status)(status == STATUS_OK ? instance_enter_initialization(instance) : status);
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    return (fmi3Status)instance_exit_initialization(instance);
}

fmi3Status fmi3Terminate(fmi3Instance instance)
{
    return (fmi3Status)instance_terminate(instance);
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    return (fmi3Status)instance_reset(instance);
}

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, fmi3Float64 values[], size_t nValues)
{
    if (nValues != nValueReferences) {
        return (fmi3Status)instance_fail(instance, STATUS_ERROR, "fmi3GetFloat64: %lu values for "
                                         "%lu scalar variables", (unsigned long)nValues,
                                         (unsigned long)nValueReferences);
    }
    return (fmi3Status)instance_get(instance, valueReferences, nValueReferences, values);
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, const fmi3Float64 values[], size_t nValues)
{
    if (nValues != nValueReferences) {
        return (fmi3Status)instance_fail(instance, STATUS_ERROR, "fmi3SetFloat64: %lu values for "
                                         "%lu scalar variables", (unsigned long)nValues,
                                         (unsigned long)nValueReferences);
    }
    return (fmi3Status)instance_set(instance, valueReferences, nValueReferences, values);
}

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    return (fmi3Status)instance_save(instance, FMUState);
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState)
{
    return (fmi3Status)instance_restore(instance, FMUState);
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    (void)instance;
    instance_free_saved(FMUState);
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t *size)
{
    (void)instance;
    (void)FMUState;
    *size = instance_serialized_size();
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState,
                                 fmi3Byte serializedState[], size_t size)
{
    return (fmi3Status)instance_serialize(instance, FMUState, (char *)serializedState, size);
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[],
                                   size_t size, fmi3FMUState *FMUState)
{
    return (fmi3Status)instance_deserialize(instance, (const char *)serializedState, size,
                                            FMUState);
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint,
                      fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                      fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminateSimulation,
                      fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    struct instance *self = instance;
    int status = instance_step(self, currentCommunicationPoint, communicationStepSize);
    (void)noSetFMUStatePriorToCurrentPoint;
    *eventHandlingNeeded = fmi3False;
    *terminateSimulation = fmi3False;
    *earlyReturn = fmi3False;
    *lastSuccessfulTime = self->last_time;
    return (fmi3Status)status;
}
