"""llama-server, as the package xllamacpp carries it: the server of llama.cpp, started by its parameters."""
import signal
import sys

import xllamacpp

model, alias, port, slots, context = sys.argv[1:6]
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = {alias}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_parallel = int(slots)
params.n_ctx = int(slots) * int(context)
params.kv_unified = False
params.n_gpu_layers = 0
# More than there are idle cores would wait for each other at every token.
params.cpuparams.n_threads = 1
params.endpoint_slots = True
params.endpoint_metrics = True
params.embedding = True
params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(params)
print("listening at", server.listening_address, flush=True)
signal.pause()
